// Counts that a token cannot reach, taken out of a lexer's states: of a long bounded text most states allow the same tokens,
// and are one state to whoever asks for those. Says nothing of longer texts.
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { deadState } from "../../regex/automaton.ts";

/** An end that is at most so many bytes away is near. */
const nearBytes = 64;
/** Beside intersections and complements it is looked at so many states at most. */
const statesMax = 100;

export class Saturation {
  readonly #automaton: Automaton;
  readonly #length: number;
  readonly #saturated: (LexerState | undefined)[] = [];
  /** By state, whether from it and from all that it leads to an end is near; where they are many it counts as far. */
  readonly #isNear: (boolean | undefined)[] = [];

  /** @param length of the longest token, in bytes */
  constructor(automaton: Automaton, length: number) {
    this.#automaton = automaton;
    this.#length = length;
  }

  /** A state from which the same texts of at most the length lead to a live state, or to none, as from this one. */
  of(state: LexerState): LexerState {
    return (this.#saturated[state] ??= this.#find(state));
  }

  #find(state: LexerState): LexerState {
    const { expressions } = this.#automaton;
    const expression = this.#automaton.expressionOf(state);
    const saturated = expressions.saturated(expression, this.#length);
    if (saturated !== expression || expressions.isPlain(expression)) return this.#automaton.start(saturated);
    // The two agree on all texts up to that length. So what a token leaves of the one can end where the other's can: behind
    // the token its end is near.
    const unbounded = expressions.unbounded(expression, this.#length + nearBytes);
    if (unbounded === expression) return state;
    const start = this.#automaton.start(unbounded);
    this.#isNear[start] ??= this.#isEndNear(start);
    return this.#isNear[start] ? start : state;
  }

  /** Looks at all states that this one leads to, for the way from each to its nearest end. */
  #isEndNear(start: LexerState): boolean {
    const before = this.#statesFrom(start);
    const { isAccepting } = this.#automaton;
    const waiting = [...before.keys()].filter((state) => isAccepting[state]);
    const distances = new Map(waiting.map((state) => [state, 0]));
    // Breadth first: whatever is added lies no nearer than all before.
    for (const state of waiting)
      for (const other of before.get(state) ?? []) {
        if (distances.has(other)) continue;
        distances.set(other, (distances.get(state) ?? 0) + 1);
        waiting.push(other);
      }
    const isNear =
      before.size <= statesMax && [...distances.values()].every((distance) => distance <= nearBytes);
    for (const state of before.keys()) this.#isNear[state] = isNear;
    return isNear;
  }

  /** The states that one leads to, with it, or more than are looked at: for each those that lead to it. */
  #statesFrom(start: LexerState): ReadonlyMap<LexerState, readonly LexerState[]> {
    const { expressions } = this.#automaton;
    const before = new Map<LexerState, LexerState[]>([[start, []]]);
    for (const state of before.keys()) {
      for (const byte of expressions.classes(this.#automaton.expressionOf(state)).firsts) {
        const next = this.#automaton.next(state, byte);
        if (next === deadState) continue;
        const ways = before.get(next);
        if (ways === undefined) before.set(next, [state]);
        else ways.push(state);
        if (before.size > statesMax) return before;
      }
    }
    return before;
  }
}
