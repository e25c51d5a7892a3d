// Partitions of the 256 byte values into classes that an expression does not distinguish, so that a derivative is
// computed once per class (Owens, Reppy, Turon, 2009, section 4.2). Equal partitions are the same object.
import { hasByte } from "./byte-set.ts";
import type { ByteSet } from "./byte-set.ts";
import { LayeredMap } from "./layered-map.ts";

export interface BytePartition {
  /** 0-based serial number of the partition, in order of creation. */
  readonly index: number;
  /** For each byte, the smallest byte of its class. */
  readonly first: Uint8Array;
  /** Smallest byte of each class. */
  readonly firsts: readonly number[];
}

/** Measured memory of a partition and its cache entries. */
const bytesPerPartition = 1000;

export class BytePartitions {
  /** The partition that has a single class. */
  readonly whole: BytePartition;
  readonly #known: LayeredMap<string, BytePartition>;
  readonly #refined: LayeredMap<number, BytePartition>;

  /** @param base set of partitions to share, which must be complete */
  constructor(base?: BytePartitions) {
    const before = <Part>(read: (one: BytePartitions) => Part): Part | undefined =>
      base === undefined ? undefined : read(base);
    this.#known = new LayeredMap(before((one) => one.#known));
    this.#refined = new LayeredMap(before((one) => one.#refined));
    this.whole = this.#intern(new Uint8Array(256));
  }

  /** Approximate memory in bytes, excluding the base's partitions. */
  get byteLength(): number {
    return this.#known.ownSize * bytesPerPartition;
  }

  /** Returns the partition with two classes: the bytes in the set, and all others. */
  of(set: ByteSet): BytePartition {
    const isIn = hasByte(set, 0);
    let other = 0;
    while (other < 255 && hasByte(set, other) === isIn) other += 1;
    const first = new Uint8Array(256);
    for (let byte = other; byte < 256; byte++) if (hasByte(set, byte) !== isIn) first[byte] = other;
    return this.#intern(first);
  }

  /** Returns the partition with one class per byte in the set, and one class for all other bytes. */
  apart(set: ByteSet): BytePartition {
    let other = 0;
    while (other < 255 && hasByte(set, other)) other += 1;
    const first = new Uint8Array(256);
    for (let byte = 0; byte < 256; byte++) first[byte] = hasByte(set, byte) ? byte : other;
    return this.#intern(first);
  }

  /** Returns the coarsest partition that distinguishes all bytes that either argument distinguishes. */
  refined(one: BytePartition, other: BytePartition): BytePartition {
    if (one === other || other === this.whole) return one;
    if (one === this.whole) return other;
    const key = one.index * 2 ** 24 + other.index;
    const known = this.#refined.get(key);
    if (known !== undefined) return known;
    const refined = this.#intern(firstsOfBoth(one.first, other.first));
    this.#refined.set(key, refined);
    return refined;
  }

  #intern(first: Uint8Array): BytePartition {
    const key = Buffer.from(first.buffer).toString("latin1");
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const firsts: number[] = [];
    for (let byte = 0; byte < 256; byte++) if (first[byte] === byte) firsts.push(byte);
    const partition = { index: this.#known.size, first, firsts };
    this.#known.set(key, partition);
    return partition;
  }
}

/** Scratch table for `refined`: the smallest byte that two classes have in common; -1 if not seen yet. */
const both = new Int16Array(256 * 256).fill(-1);

function firstsOfBoth(one: Uint8Array, other: Uint8Array): Uint8Array {
  const first = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const pair = one[byte] * 256 + other[byte];
    if (both[pair] < 0) both[pair] = byte;
    first[byte] = both[pair];
  }
  for (let byte = 0; byte < 256; byte++) both[one[byte] * 256 + other[byte]] = -1;
  return first;
}
