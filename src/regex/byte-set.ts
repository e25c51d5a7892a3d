// Sets of bytes as 256 bits, and the partition of all bytes that a growing family of sets makes: bytes that no set tells
// apart share a class, so that a derivative is computed once for each class.

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

export const unitedBytes = (one: ByteSet, other: ByteSet): ByteSet =>
  one.map((word, index) => word | other[index]);

export const commonBytes = (one: ByteSet, other: ByteSet): ByteSet =>
  one.map((word, index) => word & other[index]);

/** The classes of bytes that no set so far tells apart; each is known by its smallest byte. */
export class ByteClasses {
  /** For every byte the smallest of its class. */
  readonly first = new Uint8Array(256);
  #firsts: readonly number[] = [0];

  /** The smallest byte of every class. */
  get firsts(): readonly number[] {
    return this.#firsts;
  }

  /** Splits the classes that the set cuts. A byte that was the smallest of its class stays so. */
  split(set: ByteSet): void {
    const splits = new Map<number, number>();
    for (let byte = 0; byte < 256; byte++) {
      const first = this.first[byte];
      if (hasByte(set, byte) === hasByte(set, first)) continue;
      const known = splits.get(first);
      if (known === undefined) splits.set(first, byte);
      this.first[byte] = known ?? byte;
    }
    if (splits.size > 0) this.#firsts = [...new Set(this.first)].sort((one, other) => one - other);
  }
}
