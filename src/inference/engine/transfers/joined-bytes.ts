// Reads and writes several arrays of numbers as one contiguous range of bytes. So pieces of one size can be stored in
// blocks of another size.

/** Returns a copy of `count` bytes of the arrays, starting at `offset`. */
export function readJoined(arrays: readonly Float32Array[], offset: number, count: number): Uint8Array {
  const bytes = new Uint8Array(count);
  eachRun(arrays, { offset, count }, (run, at) => bytes.set(run, at));
  return bytes;
}

/**
 * Writes bytes into the arrays, starting at `offset`.
 *
 * @throws RangeError for more bytes than there is room for
 */
export function writeJoined(arrays: readonly Float32Array[], offset: number, bytes: Uint8Array): void {
  eachRun(arrays, { offset, count: bytes.length }, (run, at) => run.set(bytes.subarray(at, at + run.length)));
}

/** Calls a function for the part of each array that lies within the range, with the part's offset in the range. */
function eachRun(
  arrays: readonly Float32Array[],
  { offset, count }: { readonly offset: number; readonly count: number },
  visit: (run: Uint8Array, at: number) => void,
): void {
  let start = 0;
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of arrays) {
    const first = offset + at - start;
    start += byteLength;
    if (first >= byteLength) continue;
    if (at === count) return;
    const run = new Uint8Array(buffer, byteOffset + first, Math.min(byteLength - first, count - at));
    visit(run, at);
    at += run.length;
  }
  if (offset < 0 || at < count) throw new RangeError(`There are no ${count} bytes from ${offset} on.`);
}
