// The naive twin of the masks: every token is tried for itself, byte after byte, with no trie, walk or cache.
import type { Language } from "../language.ts";
import type { TokenTrie } from "../trie/token-trie.ts";
import { BacktrackingMatcher } from "./backtracking-matcher.ts";
import type { Reading } from "./backtracking-matcher.ts";

/** Tries tokens behind the same text. */
export class TokenTrial {
  readonly #matcher: BacktrackingMatcher;
  readonly #budget: Language["budget"];
  readonly #reading: Reading;

  constructor(language: Language, sofar: Uint8Array) {
    this.#matcher = new BacktrackingMatcher(language);
    this.#budget = language.budget;
    this.#reading = this.#read(this.#matcher.start(), sofar);
  }

  get mayEnd(): boolean {
    return this.#reading.mayEnd;
  }

  /** Whether some text goes on with the bytes. */
  allows(bytes: Uint8Array): boolean {
    return this.#matcher.isAlive(this.#read(this.#reading, bytes));
  }

  #read(before: Reading, bytes: Uint8Array): Reading {
    let reading = before;
    this.#budget.restart("compileSteps");
    for (const byte of bytes) {
      reading = this.#matcher.after(reading, byte);
      if (reading.ways.length === 0 && !reading.mayEnd) break;
    }
    return reading;
  }
}

/** The ids of the tokens that the text so far may go on with, in order. */
export function allowedByTrying(
  language: Language,
  { bytesOf }: Pick<TokenTrie, "bytesOf">,
  sofar: Uint8Array,
): readonly number[] {
  const trial = new TokenTrial(language, sofar);
  return bytesOf.flatMap((bytes, id) => (bytes !== null && trial.allows(bytes) ? [id] : []));
}

/** The ids whose bits are set, in order. */
export function idsOf(mask: Uint32Array): readonly number[] {
  const ids: number[] = [];
  for (const [word, bits] of mask.entries())
    for (let left = bits; left !== 0; left &= left - 1) ids.push(word * 32 + 31 - Math.clz32(left & -left));
  return ids;
}
