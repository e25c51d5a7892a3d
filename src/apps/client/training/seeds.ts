// Derives numbers from a seed, for the order of tasks and the seeds of rollouts. The numbers are the same on every
// platform.

/** Returns a number in [0, 2^31) derived from the parts; similar parts give unrelated numbers. */
export function seedOf(...parts: readonly (string | number)[]): number {
  // FNV-1a hash of the text, followed by the final mixing of MurmurHash3.
  let hash = 0x811c9dc5;
  for (const character of JSON.stringify(parts)) {
    hash = Math.imul(hash ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return mixed(hash) >>> 1;
}

function mixed(value: number): number {
  let hash = value;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** Returns a copy of the items, shuffled by the seed. */
export function shuffledBy<T>(seed: number, items: readonly T[]): T[] {
  const result = [...items];
  for (let last = result.length - 1; last > 0; last--) {
    const other = seedOf(seed, last) % (last + 1);
    [result[last], result[other]] = [result[other], result[last]];
  }
  return result;
}
