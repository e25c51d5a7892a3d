// Harmless text: complete characters that have no special meaning in JSON strings. Most tokens are harmless text, and
// most lexemes that accept one harmless character accept any other and stay in the same state. Checking this once per
// state avoids walking all those tokens.
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";

/**
 * Maximum length of harmless text in characters. Few tokens are longer, and checking those would require computing
 * more transitions.
 */
export const harmlessLengthMax = 20;

type ByteRange = readonly [low: number, high: number];

/** Printable ASCII except the quotation mark and the backslash. */
const oneByte: readonly ByteRange[] = [
  [0x20, 0x21],
  [0x23, 0x5b],
  [0x5d, 0x7e],
];
const later: ByteRange = [0x80, 0xbf];
/** The multi-byte characters: the well-formed sequences of RFC 3629, section 4. */
const severalBytes: readonly (readonly ByteRange[])[] = [
  [[0xc2, 0xdf], later],
  [[0xe0, 0xe0], [0xa0, 0xbf], later],
  [[0xe1, 0xec], later, later],
  [[0xed, 0xed], [0x80, 0x9f], later],
  [[0xee, 0xef], later, later],
  [[0xf0, 0xf0], [0x90, 0xbf], later, later],
  [[0xf1, 0xf3], later, later, later],
  [[0xf4, 0xf4], [0x80, 0x8f], later, later],
];

/** True for the first byte of a multi-byte character. */
export const isLead = (byte: number): boolean => byte >= 0xc0;
/** True for a byte that continues a multi-byte character. */
export const isWithinCharacter = (byte: number): boolean => (byte & 0xc0) === 0x80;

const isIn = (byte: number, [low, high]: ByteRange): boolean => byte >= low && byte <= high;

/** The harmless single-byte characters. */
export const harmlessBytes: readonly number[] = Array.from({ length: 128 }, (_, byte) => byte).filter(
  (byte) => oneByte.some((range) => isIn(byte, range)),
);
const isHarmlessOf = Uint8Array.from({ length: 256 }, (_, byte) => (harmlessBytes.includes(byte) ? 1 : 0));
export const isHarmlessByte = (byte: number): boolean => isHarmlessOf[byte] === 1;

export function isHarmless(text: Uint8Array): boolean {
  let characterCount = 0;
  for (let at = 0; at < text.length; characterCount++) {
    const length = harmlessAt(text, at);
    if (length === 0) return false;
    at += length;
  }
  return characterCount <= harmlessLengthMax;
}

/** Returns the length of the harmless character at a position; 0 if there is none. */
function harmlessAt(text: Uint8Array, at: number): number {
  if (text[at] < 0x80) return isHarmlessByte(text[at]) ? 1 : 0;
  return (
    severalBytes.find((form) => form.every((range, index) => isIn(text[at + index], range)))?.length ?? 0
  );
}

/** Computes and caches how harmless text changes the states of an automaton. */
export class HarmlessSteps {
  readonly #automaton: Automaton;
  /** Steps of the base automaton, used for the states shared with it; null for the base automaton itself. */
  readonly #base: HarmlessSteps | null;
  readonly #afterSeveralBytes: LexerState[] = [];
  readonly #afterAny: LexerState[] = [];
  readonly #reach: number[] = [];
  readonly #isFree: boolean[] = [];

  constructor(automaton: Automaton, base: HarmlessSteps | null = null) {
    this.#automaton = automaton;
    this.#base = base;
  }

  /**
   * Returns how many harmless characters may follow in a row, whichever they are: at each step, all harmless characters
   * lead to the same live state. At most `harmlessLengthMax`; -1 for a dead state.
   */
  reach(state: LexerState): number {
    return (this.#reach[state] ??= this.#baseOf(state)?.reach(state) ?? this.#countSteps(state));
  }

  /** True if all harmless text leads back to this state, and the lexeme cannot end in it. */
  isFree(state: LexerState): boolean {
    return (this.#isFree[state] ??=
      this.#baseOf(state)?.isFree(state) ??
      (!this.#automaton.isAccepting[state] && state !== deadState && this.after(state) === state));
  }

  /**
   * Returns the state to which all multi-byte harmless characters lead; the dead state if they do not all lead to the
   * same state.
   */
  afterSeveralBytes(state: LexerState): LexerState {
    return (this.#afterSeveralBytes[state] ??=
      this.#baseOf(state)?.afterSeveralBytes(state) ??
      this.#common(
        severalBytes.map((form) => form.reduce((at, range) => this.#afterRange(at, range), state)),
      ));
  }

  #baseOf(state: LexerState): HarmlessSteps | null {
    return state < this.#automaton.baseCount ? this.#base : null;
  }

  #countSteps(state: LexerState): number {
    let count = -1;
    for (let at = state; at !== deadState && count < harmlessLengthMax; at = this.after(at)) {
      // The state leads back to itself, so any number of steps is possible.
      if (this.after(at) === at) return harmlessLengthMax;
      count += 1;
    }
    return count;
  }

  /**
   * Returns the state to which all harmless characters lead; the dead state if they do not all lead to the same state.
   */
  after(state: LexerState): LexerState {
    return (this.#afterAny[state] ??= this.#baseOf(state)?.after(state) ?? this.#findAfter(state));
  }

  #findAfter(state: LexerState): LexerState {
    const after = this.#common(oneByte.map((range) => this.#afterRange(state, range)));
    return after === deadState ? deadState : this.#common([after, this.afterSeveralBytes(state)]);
  }

  #afterRange(state: LexerState, [low, high]: ByteRange): LexerState {
    if (state === deadState) return deadState;
    const automaton = this.#automaton;
    const { first } = automaton.expressions.classes(automaton.expressionOf(state));
    const after = automaton.next(state, low);
    for (let byte = low + 1; byte <= high; byte++) {
      // Bytes of one class lead to the same state.
      if (first[byte] !== first[byte - 1] && automaton.next(state, byte) !== after) return deadState;
    }
    return after;
  }

  #common([one, ...others]: readonly LexerState[]): LexerState {
    return others.every((other) => other === one) ? one : deadState;
  }
}
