// Sets of bytes, stored as 256 bits.

export type ByteSet = Uint32Array;

export function byteRange(low: number, high: number): ByteSet {
  const set = new Uint32Array(8);
  for (let byte = low; byte <= high; byte++) set[byte >>> 5] |= 1 << (byte & 31);
  return set;
}

export function bytesOf(members: Iterable<number>): ByteSet {
  const set = new Uint32Array(8);
  for (const byte of members) set[byte >>> 5] |= 1 << (byte & 31);
  return set;
}

export const hasByte = (set: ByteSet, byte: number): boolean => ((set[byte >>> 5] >>> (byte & 31)) & 1) === 1;

export const unionBytes = (one: ByteSet, other: ByteSet): ByteSet =>
  one.map((word, index) => word | other[index]);

export const intersectBytes = (one: ByteSet, other: ByteSet): ByteSet =>
  one.map((word, index) => word & other[index]);

/** Returns the bytes of a set in ascending order. */
export function membersOf(set: ByteSet): readonly number[] {
  const members: number[] = [];
  for (let word = 0; word < set.length; word++)
    for (let left = set[word]; left !== 0; left &= left - 1)
      members.push(word * 32 + 31 - Math.clz32(left & -left));
  return members;
}
