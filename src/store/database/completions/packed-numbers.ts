// Packs lists of numbers into short texts, which have a quarter to half the size of JSON and are faster to parse. The
// texts are base64, because databases do not store every character.

/**
 * Packs integers from 0 to below 2^53 as LEB128: seven bits per byte, low bits first. The last byte of each number is
 * below 128.
 */
export function packedCounts(numbers: readonly number[]): string {
  const bytes = Buffer.allocUnsafe(numbers.length * 8);
  let end = 0;
  for (const number of numbers) {
    let rest = number;
    while (rest >= 128) {
      bytes[end++] = (rest % 128) + 128;
      rest = Math.floor(rest / 128);
    }
    bytes[end++] = rest;
  }
  return bytes.toString("base64", 0, end);
}

export function unpackedCounts(text: string): readonly number[] {
  const numbers: number[] = [];
  let [number, weight] = [0, 1];
  for (const byte of Buffer.from(text, "base64")) {
    number += (byte % 128) * weight;
    weight *= 128;
    if (byte >= 128) continue;
    numbers.push(number);
    [number, weight] = [0, 1];
  }
  return numbers;
}

/** Packs numbers without loss, in eight bytes each. */
export function packedDoubles(numbers: readonly number[]): string {
  const bytes = new DataView(new ArrayBuffer(numbers.length * 8));
  for (const [index, number] of numbers.entries()) bytes.setFloat64(8 * index, number, true);
  return Buffer.from(bytes.buffer).toString("base64");
}

export function unpackedDoubles(text: string): readonly number[] {
  const bytes = Buffer.from(text, "base64");
  return Array.from({ length: bytes.length / 8 }, (_, index) => bytes.readDoubleLE(8 * index));
}

/** Several lists of bytes, packed as their lengths and their concatenation. */
export interface PackedBytes {
  readonly lengths: string;
  readonly bytes: string;
}

export function packedBytes(lists: readonly (readonly number[])[]): PackedBytes {
  const lengths = lists.map(({ length }) => length);
  const bytes = Buffer.allocUnsafe(lengths.reduce((sum, length) => sum + length, 0));
  let end = 0;
  for (const list of lists) for (const byte of list) bytes[end++] = byte;
  return { lengths: packedCounts(lengths), bytes: bytes.toString("base64") };
}

export function unpackedBytes({ lengths, bytes }: PackedBytes): readonly (readonly number[])[] {
  const all = [...Buffer.from(bytes, "base64")];
  let end = 0;
  return unpackedCounts(lengths).map((length) => all.slice(end, (end += length)));
}
