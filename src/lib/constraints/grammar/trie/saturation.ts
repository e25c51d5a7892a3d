// Removes from lexer states the counts that a single token cannot reach. Most states of a long bounded text then allow
// the same tokens, and share a mask. Valid only for texts up to a token's length.
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { deadState } from "../../regex/automaton.ts";

/** Distance in bytes up to which an end counts as near. */
const nearBytes = 64;
/** Limit on the states examined for expressions with intersections and complements. */
const statesMax = 100;

export class Saturation {
  readonly #automaton: Automaton;
  readonly #length: number;
  readonly #saturated: (LexerState | undefined)[] = [];
  /**
   * By state: true if an end is within {@link nearBytes} of the state and of all states reachable from it; false if
   * there are too many of these to check.
   */
  readonly #isNear: (boolean | undefined)[] = [];

  /** @param length of the longest token, in bytes */
  constructor(automaton: Automaton, length: number) {
    this.#automaton = automaton;
    this.#length = length;
  }

  /**
   * Returns a state that is equivalent for texts of at most this length: each leads from both to a live state or from
   * neither.
   */
  of(state: LexerState): LexerState {
    return (this.#saturated[state] ??= this.#find(state));
  }

  #find(state: LexerState): LexerState {
    const { expressions } = this.#automaton;
    const expression = this.#automaton.expressionOf(state);
    const saturated = expressions.saturated(expression, this.#length);
    if (saturated !== expression || expressions.isPlain(expression)) return this.#automaton.start(saturated);
    // Both agree on all texts up to that length. After a token, an end of the unbounded state is near, so the original
    // can end there too.
    const unbounded = expressions.unbounded(expression, this.#length + nearBytes);
    if (unbounded === expression) return state;
    const start = this.#automaton.start(unbounded);
    this.#isNear[start] ??= this.#isEndNear(start);
    return this.#isNear[start] ? start : state;
  }

  /** Checks all reachable states for their distance to the nearest end. */
  #isEndNear(start: LexerState): boolean {
    const before = this.#statesFrom(start);
    const { isAccepting } = this.#automaton;
    const waiting = [...before.keys()].filter((state) => isAccepting[state]);
    const distances = new Map(waiting.map((state) => [state, 0]));
    // Breadth first, so distances never decrease.
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

  /** Returns the predecessors of each reachable state, stopping above the limit. */
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
