// Randomness: a seeded generator for reproducible results, and the operating system's generator for secrets and ids.
import { createHash, randomBytes, randomUUID } from "node:crypto";
import type { Clock } from "./clock.ts";

/** A stream of random numbers. */
export interface Random {
  /** Returns a uniform number in [0, 1) with 53 random bits. */
  uniform(): number;
  /** Returns a uniform integer in [0, count). */
  index(count: number): number;
}

/**
 * Returns a stream of random numbers from xoshiro128** (Blackman and Vigna, 2018). Its seed is the SHA-256 of the key's
 * parts, so equal keys give equal streams.
 */
export function seededRandom(...key: readonly (string | number)[]): Random {
  const digest = createHash("sha256").update(JSON.stringify(key)).digest();
  return randomFrom([
    digest.readUInt32LE(0),
    digest.readUInt32LE(4),
    digest.readUInt32LE(8),
    digest.readUInt32LE(12) | 1,
  ]);
}

/** Returns the stream of xoshiro128** that begins with this state. */
export function randomFrom(state: readonly [number, number, number, number]): Random {
  let [a, b, c, d] = state.map((word) => word | 0) as [number, number, number, number];
  const next = (): number => {
    const scrambled = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9);
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return scrambled >>> 0;
  };
  const uniform = (): number => ((next() >>> 5) * 67108864 + (next() >>> 6)) / 9007199254740992;
  return {
    uniform,
    index: (count) => Math.floor(uniform() * count),
  };
}

function rotateLeft(word: number, count: number): number {
  return (word << count) | (word >>> (32 - count));
}

/** Returns cryptographically secure random bytes from the operating system. */
export function secureBytes(count: number): Uint8Array {
  return randomBytes(count);
}

/** Returns a random seed, which is a safe integer, for a request that sets no seed. */
export function freshSeed(): number {
  return randomBytes(6).readUIntBE(0, 6);
}

/** Returns the items in random order, as a new list. */
export function shuffled<T>(random: Random, items: readonly T[]): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = random.index(last + 1);
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}

// Identifiers are UUIDs of versions 4 and 7 (RFC 9562).

/** Returns a random UUID (version 4). */
export function newUuid(): string {
  return randomUUID();
}

/** Returns a UUID of version 7. Such ids sort by their time of creation, to the millisecond. */
export function newUuid7(clock: Clock): string {
  const bytes = secureBytes(16);
  const milliseconds = BigInt(clock.now().getTime());
  for (let byte = 0; byte < 6; byte++) bytes[byte] = Number((milliseconds >> BigInt(8 * (5 - byte))) & 0xffn);
  bytes[6] = 0x70 | (bytes[6] & 0x0f);
  bytes[8] = 0x80 | (bytes[8] & 0x3f);
  const hex = Buffer.from(bytes).toString("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}
