// Writes a file from a server under a temporary name until it is complete, so that an interruption never leaves a
// truncated file under the requested name.
import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Writes the chunks to a file, and flushes it before renaming it.
 *
 * @param onBroken called if the chunks end early or cannot be written; gets the temporary file, and throws the
 * command's error
 */
export async function writeWhole(
  file: string,
  pieces: AsyncIterable<Uint8Array>,
  onBroken: (partial: string, cause: unknown) => Promise<never>,
): Promise<void> {
  const partial = `${file}.partial-${process.pid}`;
  try {
    await pipeline(Readable.from(pieces), createWriteStream(partial, { flush: true }));
    await rename(partial, file);
  } catch (cause) {
    await onBroken(partial, cause);
  }
}
