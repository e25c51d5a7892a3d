// A set of token ids, stored as bits in words of 32 ids, so that sets are intersected and counted word by word.

export class TokenSet {
  /** Number of ids that the set may contain; all ids in the set are lower. */
  readonly vocabularySize: number;
  /** Bit `id % 32` of word `id / 32` is set if the id is in the set. */
  readonly words: Uint32Array;

  constructor(vocabularySize: number) {
    this.vocabularySize = vocabularySize;
    this.words = new Uint32Array(Math.ceil(vocabularySize / 32));
  }

  has(id: number): boolean {
    return ((this.words[id >>> 5] ?? 0) & (1 << (id & 31))) !== 0;
  }

  add(id: number): void {
    if (id < this.vocabularySize) this.words[id >>> 5] |= 1 << (id & 31);
  }

  delete(id: number): void {
    this.words[id >>> 5] &= ~(1 << (id & 31));
  }

  /** Adds every id. */
  fill(): void {
    this.words.fill(0xffff_ffff);
    this.#cutAtEnd();
  }

  /** Copies another set, given as its words. Ids beyond the last given word are not in the set. */
  assign(words: Uint32Array): void {
    const own = this.words;
    own.set(words.length > own.length ? words.subarray(0, own.length) : words);
    own.fill(0, words.length);
    this.#cutAtEnd();
  }

  /** Removes the ids that are not in another set. */
  intersect({ words }: TokenSet): void {
    const own = this.words;
    for (let index = 0; index < own.length; index++) own[index] &= words[index] ?? 0;
  }

  get count(): number {
    let count = 0;
    for (const word of this.words) count += bitCount(word);
    return count;
  }

  get isEmpty(): boolean {
    return this.words.every((word) => word === 0);
  }

  #cutAtEnd(): void {
    const rest = this.vocabularySize & 31;
    if (rest !== 0) this.words[this.words.length - 1] &= (1 << rest) - 1;
  }
}

/** Returns the set of some ids; none may be negative. */
export function tokenSetOf(ids: Iterable<number>): TokenSet {
  const all = [...ids];
  const set = new TokenSet(all.reduce((size, id) => Math.max(size, id + 1), 0));
  for (const id of all) set.add(id);
  return set;
}

function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
