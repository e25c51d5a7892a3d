// Guesses the next tokens of a choice by what once followed its latest ones, in its prompt or its own answer: a copy goes on.
// Keeps, for runs of a few lengths, where each was last seen; a table forgets what others of its entries write over, and so
// takes little memory and no time that grows with the text. Whether a guess is worth checking is not decided here.
// Prompt lookup decoding: Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding.
import type { TokenHistory } from "../logits/draw-input.ts";

/** Lengths of the runs that are looked for, the longest first. */
const runLengths = [8, 4, 2] as const;
/** A longer match says no more. */
const matchLengthMax = 32;
/** Entries of a table: of few tokens hardly one is written over. */
const entriesPerToken = 8;
const tableSizes = { min: 2 ** 10, max: 2 ** 18 } as const;

/** Called with each guess of one token that could be compared, and how many tokens had matched before it. */
export type OnGuess = (matchLength: number, isRight: boolean) => void;

export class PromptLookup {
  readonly #history: TokenHistory;
  readonly #onGuess: OnGuess;
  /** For each of the lengths where runs were last seen: the position behind the run, by its hash; 0 is none. */
  readonly #tables: readonly Int32Array[];
  /** Tokens that are in the tables. */
  #seenCount = 0;
  /** The position of the token that is expected next, and how many before it match the latest ones. */
  #source = 0;
  #matchLength = 0;

  /** @param tokenCountMax to which the history may grow */
  constructor(history: TokenHistory, tokenCountMax: number, onGuess: OnGuess) {
    this.#history = history;
    this.#onGuess = onGuess;
    const { min, max } = tableSizes;
    const size = Math.min(max, Math.max(min, 2 ** Math.ceil(Math.log2(entriesPerToken * tokenCountMax))));
    this.#tables = runLengths.map(() => new Int32Array(size));
  }

  /** How many of the latest tokens were seen before in this order; 0 where there is no guess. */
  get matchLength(): number {
    return this.#matchLength;
  }

  /** Takes in the tokens that came since the last time. */
  follow(): void {
    const { prompt, answerIds } = this.#history;
    const end = prompt.ids.length + answerIds.length;
    for (; this.#seenCount < end; this.#seenCount++) this.#take(this.#seenCount);
  }

  /** The guess after all tokens that were taken in, of so many tokens; where it comes to the end of them, it goes round. */
  guess(count: number): readonly number[] {
    const guessed: number[] = [];
    if (this.#matchLength === 0) return guessed;
    while (guessed.length < count) {
      const position = this.#source + guessed.length;
      guessed.push(position < this.#seenCount ? this.#at(position) : guessed[position - this.#seenCount]);
    }
    return guessed;
  }

  #take(position: number): void {
    if (this.#matchLength > 0) {
      const isRight = this.#at(this.#source) === this.#at(position);
      this.#onGuess(this.#matchLength, isRight);
      this.#source += 1;
      this.#matchLength = isRight ? Math.min(this.#matchLength + 1, matchLengthMax) : 0;
    }
    const end = position + 1;
    runLengths.forEach((length, index) => {
      if (end < length) return;
      const table = this.#tables[index];
      const place = this.#hash(end, length) & (table.length - 1);
      if (this.#matchLength < length) this.#tryMatch(table[place], end);
      table[place] = end;
    });
  }

  /** A run that may be the same as the one before `end`. */
  #tryMatch(source: number, end: number): void {
    let length = 0;
    while (
      length < Math.min(source, matchLengthMax) &&
      this.#at(source - 1 - length) === this.#at(end - 1 - length)
    )
      length += 1;
    if (length < 2 || length <= this.#matchLength) return;
    this.#source = source;
    this.#matchLength = length;
  }

  #hash(end: number, length: number): number {
    let hash = length;
    for (let position = end - length; position < end; position++)
      hash = Math.imul(hash ^ this.#at(position), 0x9e3779b1) ^ (hash >>> 15);
    return hash ^ (hash >>> 16);
  }

  #at(position: number): number {
    const { prompt, answerIds } = this.#history;
    return position < prompt.ids.length ? prompt.ids[position] : answerIds[position - prompt.ids.length];
  }
}
