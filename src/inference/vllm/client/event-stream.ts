// Reads the data of server-sent events (WHATWG HTML, 9.2) as they arrive. The data of an event is the text after
// `data:`, joined over its lines. Ignores names, ids and comments.
import { StringDecoder } from "node:string_decoder";
import { AnswerTooLarge } from "../../../base/http-client/http-failure.ts";

/**
 * Maximum size of an event in characters. The largest events have the log-probabilities of a whole vocabulary for a few
 * tokens.
 */
export const eventCharactersMax = 64 * 2 ** 20;

/**
 * Yields the data of all events that arrived together; an empty list if the bytes completed no event. Takes time
 * proportional to the number of bytes, regardless of the sizes of the chunks.
 *
 * @throws AnswerTooLarge if the lines of one event, or a single line without data, are too long; errors of reading the
 * bytes
 */
export async function* readEventData(
  body: AsyncIterable<Uint8Array>,
  charactersMax: number = eventCharactersMax,
): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder();
  // Pieces of an unfinished line. They are joined only at the line's end, because joining each piece would take
  // quadratic time.
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
