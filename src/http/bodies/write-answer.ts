// A long answer as bytes, made with pauses: whoever is answered at the same time waits for a piece of it, not for all.
import { setImmediate } from "node:timers/promises";
import { jsonPieces } from "../../wire/json-text.ts";

/** About as many characters as are written in a millisecond. */
const charactersBetweenPauses = 256 * 1024;

/** The answer as JSON in UTF-8. */
export async function writeAnswer(answer: object): Promise<Buffer> {
  const buffers: Buffer[] = [];
  let text = "";
  for (const piece of jsonPieces(answer)) {
    text += piece;
    if (text.length < charactersBetweenPauses) continue;
    buffers.push(Buffer.from(text));
    text = "";
    await setImmediate();
  }
  buffers.push(Buffer.from(text));
  return Buffer.concat(buffers);
}
