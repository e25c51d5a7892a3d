// Writes the bytes of an upload to a file while they arrive.
import { open } from "node:fs/promises";
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Writes all chunks to a file, and returns the number of bytes.
 *
 * @throws ServiceError `too_large` beyond `bytesMax`; errors of reading `content`
 */
export async function writeContent(
  file: string,
  content: AsyncIterable<Uint8Array>,
  bytesMax: number,
): Promise<number> {
  const handle = await open(file, "w");
  try {
    let byteCount = 0;
    for await (const piece of content) {
      byteCount += piece.length;
      if (byteCount > bytesMax) throw tooLarge(bytesMax);
      // Uses `appendFile`, because `write` may write only a part of the chunk.
      await handle.appendFile(piece);
    }
    return byteCount;
  } finally {
    await handle.close();
  }
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The content has more than ${bytesMax} bytes, the most that are accepted. Split it, and send the pieces separately.`;
  return new ServiceError({ code: "too_large", message });
}
