// A file that a command writes as it comes from a server: under a temporary name until it is whole, so that no file with the
// name that was asked for is ever cut short, whatever ends the command.
import { createWriteStream } from "node:fs";
import { rename } from "node:fs/promises";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Writes the pieces to a file, flushed before it gets its name.
 *
 * @param onBroken called if the pieces end early or cannot be written; gets the temporary file, and throws what the command says
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
