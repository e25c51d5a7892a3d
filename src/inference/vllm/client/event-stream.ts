// The data of server-sent events (WHATWG HTML, 9.2), as they come: what stands behind `data:`, joined over the lines of an
// event. Names, ids and comments are passed over.
import { StringDecoder } from "node:string_decoder";
import { AnswerTooLarge } from "../../../base/http-client/http-failure.ts";

/** The longest event: one with the log-probabilities of a whole vocabulary for some tokens. */
export const eventCharactersMax = 64 * 2 ** 20;

/**
 * What each event of a stream says, those that came at once together: none if the bytes ended no event. An event may have
 * any number of lines, which together are bounded; so is a line that says nothing. Reading takes time in proportion to the
 * bytes, however they are cut.
 *
 * @throws AnswerTooLarge for an event that is too long; what reading the bytes throws
 */
export async function* eventData(
  body: AsyncIterable<Uint8Array>,
  charactersMax: number = eventCharactersMax,
): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder();
  // Pieces of a line that has not ended: joined once it has, since joining them with each piece is quadratic.
  let pieces: string[] = [];
  let data: string[] = [];
  let characterCount = 0;
  for await (const bytes of body) {
    const text = decoder.write(bytes);
    characterCount += text.length;
    const events: string[] = [];
    if (!text.includes("\n")) pieces.push(text);
    else {
      const lines = text.split("\n");
      const [rest, first] = [lines.pop() ?? "", lines[0]];
      lines[0] = pieces.join("") + first;
      pieces = [rest];
      for (const written of lines) {
        const line = written.endsWith("\r") ? written.slice(0, -1) : written;
        if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
        if (line !== "" || data.length === 0) continue;
        events.push(data.join("\n"));
        data = [];
      }
      if (data.length === 0) characterCount = rest.length;
    }
    if (characterCount > charactersMax) throw new AnswerTooLarge("an event of the answer is too long");
    yield events;
  }
}
