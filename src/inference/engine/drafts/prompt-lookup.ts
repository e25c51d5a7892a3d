// Prompt lookup decoding (Saxena 2023, https://github.com/apoorvumang/prompt-lookup-decoding): finds an earlier
// occurrence of a choice's latest tokens in its prompt or answer, and guesses that the same tokens follow again. Hash
// tables hold the last position of each run of 2, 4 or 8 tokens. Entries may overwrite each other, so memory is
// bounded, and a lookup takes the same time in any text.
import type { TokenHistory } from "../logits/draw-input.ts";

/** Lengths of the token runs that are looked up in the tables, the longest first. */
const runLengths = [8, 4, 2] as const;
/** Maximum match length; longer matches make a guess no more reliable. */
const matchLengthMax = 32;
/**
 * Number of table entries per token of the text. It is high enough that entries of a short text rarely overwrite each
 * other.
 */
const entriesPerToken = 8;
const tableSizes = { min: 2 ** 10, max: 2 ** 18 } as const;

/**
 * Called after a guess, once the actual token is known. Gets the match length of the guess, and whether the guess was
 * right.
 */
export type OnGuess = (matchLength: number, isRight: boolean) => void;

export class PromptLookup {
  readonly #history: TokenHistory;
  readonly #onGuess: OnGuess;
  /**
   * For each run length, a table that maps a run's hash to the position after the run's last occurrence; 0 if there is
   * none.
   */
  readonly #tables: readonly Int32Array[];
  /** Number of tokens of the history that have been added to the tables. */
  #seenCount = 0;
  /**
   * Position in the history of the token that the next guess copies. The match length is the number of tokens before
   * this position that equal the history's latest tokens.
   */
  #source = 0;
  #matchLength = 0;

  /** @param tokenCountMax maximum number of tokens in the history */
  constructor(history: TokenHistory, tokenCountMax: number, onGuess: OnGuess) {
    this.#history = history;
    this.#onGuess = onGuess;
    const { min, max } = tableSizes;
    const size = Math.min(max, Math.max(min, 2 ** Math.ceil(Math.log2(entriesPerToken * tokenCountMax))));
    this.#tables = runLengths.map(() => new Int32Array(size));
  }

  /** Number of latest tokens that also occur together at an earlier position; 0 if there is no guess. */
  get matchLength(): number {
    return this.#matchLength;
  }

  /** Adds the tokens that are new since the last call to the tables, and updates the match. */
  follow(): void {
    const { prompt, answerIds } = this.#history;
    const end = prompt.ids.length + answerIds.length;
    for (; this.#seenCount < end; this.#seenCount++) this.#take(this.#seenCount);
  }

  /**
   * Guesses the `count` tokens that follow the history. If the copied text ends before that, the guess continues with
   * its own first tokens.
   */
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

  /**
   * Compares the tokens before `source` with those before `end`, whose hashes are equal. Uses `source` as the match if
   * the tokens are equal too.
   */
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
