// The bytes of an answer as a text, within a limit.

/** An answer that is not in the form that it should have. */
export class UnreadableAnswer extends Error {}

/** @throws UnreadableAnswer for a longer one; what reading it throws */
export async function readText(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<string> {
  const pieces: Uint8Array[] = [];
  let byteCount = 0;
  for await (const piece of body) {
    byteCount += piece.length;
    if (byteCount > bytesMax) throw new UnreadableAnswer(`the answer has more than ${bytesMax} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces).toString();
}
