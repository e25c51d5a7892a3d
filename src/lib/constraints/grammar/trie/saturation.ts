// Simplifies lexer states: removes repetition counts that a single token cannot reach. Most states of a long text with
// a length limit then become equal, and share a mask. The replacement is valid only for texts of at most a token's
// length.
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { deadState } from "../../regex/automaton.ts";

/** Distance in bytes up to which an accepting state counts as near. */
const nearBytes = 64;
/** Maximum number of states examined for an expression with intersections or complements. */
const statesMax = 100;

export class Saturation {
  readonly #automaton: Automaton;
  readonly #length: number;
  readonly #saturated: (LexerState | undefined)[] = [];
  /**
   * By state: true if an accepting state is within {@link nearBytes} of this state and of each state reachable from
   * it. False if there are too many reachable states to check.
   */
  readonly #isNear: (boolean | undefined)[] = [];

  /** @param length number of bytes in the longest token */
  constructor(automaton: Automaton, length: number) {
    this.#automaton = automaton;
    this.#length = length;
  }

  /**
   * Returns a state that texts of at most this length cannot distinguish from the given one: each text leads from both
   * to a live state, or from neither.
   */
  of(state: LexerState): LexerState {
    return (this.#saturated[state] ??= this.#find(state));
  }

  #find(state: LexerState): LexerState {
    const { expressions } = this.#automaton;
    const expression = this.#automaton.expressionOf(state);
    const saturated = expressions.saturated(expression, this.#length);
    if (saturated !== expression || expressions.isPlain(expression)) return this.#automaton.start(saturated);
    // The bounded and the unbounded expression agree on all texts up to the length of a token plus `nearBytes`. After a
    // token, an accepting state of the unbounded one is within `nearBytes`, so the bounded expression can end there
    // too.
    const unbounded = expressions.unbounded(expression, this.#length + nearBytes);
    if (unbounded === expression) return state;
    const start = this.#automaton.start(unbounded);
    this.#isNear[start] ??= this.#isEndNear(start);
    return this.#isNear[start] ? start : state;
  }

  /** True if an accepting state is near each state reachable from the start. */
  #isEndNear(start: LexerState): boolean {
    const before = this.#statesFrom(start);
    const { isAccepting } = this.#automaton;
    const waiting = [...before.keys()].filter((state) => isAccepting[state]);
    const distances = new Map(waiting.map((state) => [state, 0]));
    // Breadth-first order, so the first distance found for a state is the smallest.
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

  /** Returns the predecessors of each reachable state, stopping when there are more states than `statesMax`. */
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
