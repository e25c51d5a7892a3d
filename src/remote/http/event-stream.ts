// The data of server-sent events (WHATWG HTML, 9.2), as they come: what stands behind `data:`, joined over the lines of an
// event. Names, ids and comments are passed over.
import { StringDecoder } from "node:string_decoder";
import { UnreadableAnswer } from "./read-text.ts";

/** The longest event: one with the log-probabilities of a whole vocabulary for some tokens. */
const eventCharactersMax = 64 * 2 ** 20;

/**
 * What each event of a stream says.
 *
 * @throws UnreadableAnswer for an event that is too long; what reading the bytes throws
 */
export async function* eventData(body: AsyncIterable<Uint8Array>): AsyncGenerator<readonly string[]> {
  const decoder = new StringDecoder();
  let rest = "";
  let data: string[] = [];
  for await (const bytes of body) {
    const lines = (rest + decoder.write(bytes)).split("\n");
    rest = lines.pop() ?? "";
    if (rest.length > eventCharactersMax) throw new UnreadableAnswer("an event of the answer is too long");
    const events: string[] = [];
    for (const written of lines) {
      const line = written.endsWith("\r") ? written.slice(0, -1) : written;
      if (line.startsWith("data:")) data.push(line.slice(line.startsWith("data: ") ? 6 : 5));
      if (line !== "" || data.length === 0) continue;
      events.push(data.join("\n"));
      data = [];
    }
    if (events.length > 0) yield events;
  }
}
