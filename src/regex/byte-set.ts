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
  /** Null until it is asked for again. */
  #firsts: readonly number[] | null = null;

  /** The smallest byte of every class. */
  get firsts(): readonly number[] {
    return (this.#firsts ??= Array.from(this.first.keys()).filter((byte) => this.first[byte] === byte));
  }

  /** Splits the classes that the set cuts. A byte that was the smallest of its class stays so. */
  split(set: ByteSet): void {
    const { first } = this;
    /** By the smallest byte of a class, that of the class that is cut off it; -1 where none is. */
    const cutOff = new Int16Array(256).fill(-1);
    for (let byte = 0; byte < 256; byte++) {
      const known = first[byte];
      if (hasByte(set, byte) === hasByte(set, known)) continue;
      if (cutOff[known] < 0) cutOff[known] = byte;
      first[byte] = cutOff[known];
      this.#firsts = null;
    }
  }
}
