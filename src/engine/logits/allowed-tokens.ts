// The tokens of a row that may come, without the others: what draws from them then passes over no more than it must.

export interface AllowedTokens {
  /** Bit `id % 32` of word `id / 32` is set for a token that may come. */
  readonly words: Uint32Array;
  /** May come too, whatever the words say. */
  readonly endTokenIds: ReadonlySet<number>;
}

/** Scores of a row that are left to draw from. */
export interface ScoresLeft {
  readonly logits: Float32Array;
  /** The token of each place; null where the place is the token's id. */
  readonly ids: Int32Array | null;
}

/** Room for the scores that are left of a vocabulary; overwritten by every use. */
export class AllowedScores {
  readonly #words: Uint32Array;
  readonly #ids_V: Int32Array;
  readonly #logits_V: Float32Array;

  constructor(vocabularySize: number) {
    this.#words = new Uint32Array(Math.ceil(vocabularySize / 32));
    this.#ids_V = new Int32Array(vocabularySize);
    this.#logits_V = new Float32Array(vocabularySize);
  }

  /**
   * The scores of the tokens that may come, in the order of their ids; where these are most, those of all tokens with
   * negative infinity for the others. Valid until the next call.
   *
   * @param logits_V of the whole vocabulary; not modified
   */
  leave(logits_V: Float32Array, { words, endTokenIds }: AllowedTokens): ScoresLeft {
    const all = this.#words;
    all.set(words.length > all.length ? words.subarray(0, all.length) : words);
    all.fill(0, words.length);
    for (const id of endTokenIds) all[id >>> 5] |= 1 << (id & 31);
    let count = 0;
    for (const word of all) count += bitCount(word);
    return 2 * count > logits_V.length ? this.#cover(logits_V) : this.#gather(logits_V);
  }

  #cover(logits_V: Float32Array): ScoresLeft {
    const words = this.#words;
    const left_V = this.#logits_V;
    left_V.set(logits_V);
    for (let index = 0; index < words.length; index++) {
      // The lowest bit that is not set is set each time.
      for (let word = ~words[index]; word !== 0; word &= word - 1) {
        const id = 32 * index + (31 - Math.clz32(word & -word));
        if (id < left_V.length) left_V[id] = -Infinity;
      }
    }
    return { logits: left_V, ids: null };
  }

  #gather(logits_V: Float32Array): ScoresLeft {
    const words = this.#words;
    const ids_V = this.#ids_V;
    const left_V = this.#logits_V;
    let count = 0;
    for (let index = 0; index < words.length; index++) {
      let word = words[index];
      if (word === 0) continue;
      const first = 32 * index;
      const end = Math.min(first + 32, logits_V.length);
      // Each is written, and stays where its bit is set: a branch would be guessed wrong too often.
      for (let id = first; id < end; id++) {
        ids_V[count] = id;
        left_V[count] = logits_V[id];
        count += word & 1;
        word >>>= 1;
      }
    }
    return { logits: left_V.subarray(0, count), ids: ids_V };
  }
}

function bitCount(word: number): number {
  const pairs = word - ((word >>> 1) & 0x5555_5555);
  const fours = (pairs & 0x3333_3333) + ((pairs >>> 2) & 0x3333_3333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f_0f0f, 0x0101_0101) >>> 24;
}
