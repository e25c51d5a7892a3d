// Reads the bytes of an answer into memory, up to a limit.
import { AnswerTooLarge } from "./http-failure.ts";

/**
 * Returns all bytes of a body.
 *
 * @throws AnswerTooLarge above the limit; errors of the body
 */
export async function readBytes(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let byteCount = 0;
  for await (const piece of body) {
    byteCount += piece.length;
    if (byteCount > bytesMax) throw new AnswerTooLarge(`the answer has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Returns a body as text, like {@link readBytes}. The text is decoded as UTF-8. */
export async function readText(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  return (await readBytes(body, bytesMax)).toString();
}
