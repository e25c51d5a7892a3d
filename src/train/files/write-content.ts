// Writes a file as it comes.
import { open } from "node:fs/promises";
import { ServiceError } from "../../base/domain/service-error.ts";

/**
 * Writes all pieces; returns how many bytes they have.
 *
 * @throws ServiceError `too_large` beyond `bytesMax`; what reading `content` throws
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
      // Unlike `write`, it goes on where a write was cut short.
      await handle.appendFile(piece);
    }
    return byteCount;
  } finally {
    await handle.close();
  }
}

function tooLarge(bytesMax: number): ServiceError {
  const message = `The file has more than ${bytesMax} bytes, the most that a file may have. Upload it in parts.`;
  return new ServiceError({ code: "too_large", message });
}
