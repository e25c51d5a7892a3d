// Writes downloaded data under a temporary file name until it is complete, so that an interruption never leaves a
// truncated file under the requested name.
import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Writes the chunks to a temporary file, flushes the file to disk, and renames it to `file`.
 *
 * @param onBroken called if the download ends early or the file cannot be written. Gets the temporary file's name, and
 * throws the command's error
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
