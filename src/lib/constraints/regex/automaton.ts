// The deterministic automaton (DFA) for a constraint's expressions, built lazily as it is traversed. Each state stands
// for an expression that can still match some text. All other expressions map to the dead state, so every live path
// can reach an accepting state.
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits, StepBudget } from "./limits.ts";
import { emptyText, nothing } from "./expressions.ts";
import { LayeredMap } from "./layered-map.ts";
import { completionOf } from "./multiple.ts";
import type { Expression, Expressions } from "./expressions.ts";

export type LexerState = number;
export const deadState: LexerState = 0;

const unknown = -1;

/** Transition rows are stored in fixed-size pages. Adding states never moves a page, and automata can share pages. */
const [statesPerPage, statesPerPageLog2] = [16, 4];

/** Measured memory of a state: its expression and its index entry. */
const bytesPerState = 60;
const bytesPerPage = statesPerPage * 256 * Int32Array.BYTES_PER_ELEMENT;

/** A search node: an expression, and the number of bytes that led to it. */
interface Way {
  readonly at: Expression;
  readonly length: number;
}

/**
 * Priority queue of search nodes, ordered by estimated total text length. Of nodes with equal estimates, the last one
 * added is taken first.
 */
class ShortestFirst {
  readonly #byLength: Way[][] = [];
  #shortest = 0;

  add(way: Way, length: number): void {
    const bucket = Math.min(length, lengthMax);
    (this.#byLength[bucket] ??= []).push(way);
    this.#shortest = Math.min(this.#shortest, bucket);
  }

  take(): Way | null {
    for (; this.#shortest < this.#byLength.length; this.#shortest++) {
      const way = this.#byLength[this.#shortest]?.pop();
      if (way !== undefined) return way;
    }
    return null;
  }
}

/** Maximum estimated length with a separate queue. All longer estimates share the last queue. */
const lengthMax = 4_095;

export class Automaton {
  readonly expressions: Expressions;
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  /** Next state, or -1 if not computed yet, at [state % 16 * 256 + byte] of the state's page. */
  readonly #pages: Int32Array[];
  /** By state: true if a matching text may end in that state. */
  readonly isAccepting: boolean[];
  readonly #expressionOf: Expression[];
  readonly #stateOf: LayeredMap<Expression, LexerState>;
  /** Cache for expressions that are not plain: true if the expression matches some text. */
  readonly #canMatch: LayeredMap<Expression, boolean>;
  /** Number of states shared with the base automaton; 0 without one. */
  readonly baseCount: number;

  /** @param base automaton whose states this one shares; must be {@link complete}, so that no transition leaves them */
  constructor(expressions: Expressions, limits: GrammarLimits, budget: StepBudget, base?: Automaton) {
    this.expressions = expressions;
    this.#limits = limits;
    this.#budget = budget;
    const before = <Part>(read: (one: Automaton) => Part): Part | undefined =>
      base === undefined ? undefined : read(base);
    this.#pages = before((one) => one.#pages)?.slice() ?? [];
    this.isAccepting = base?.isAccepting.slice() ?? [];
    this.#expressionOf = before((one) => one.#expressionOf)?.slice() ?? [];
    this.#stateOf = new LayeredMap(before((one) => one.#stateOf));
    this.#canMatch = new LayeredMap(before((one) => one.#canMatch));
    this.baseCount = this.#expressionOf.length;
    if (base === undefined) this.#stateOf.set(nothing, this.#addState(nothing));
  }

  /** Approximate memory in bytes, including the expressions but excluding the base automaton. */
  get byteLength(): number {
    const states = this.#expressionOf.length * bytesPerState;
    const ownPages = this.#pages.length - this.baseCount / statesPerPage;
    return this.expressions.byteLength + states + ownPages * bytesPerPage;
  }

  /**
   * Computes all reachable states. After that, this automaton adds no more states, so other automata can build on it.
   */
  complete(): void {
    // The bound is read again each time, so states added meanwhile are visited too.
    for (let state = 0; state < this.#expressionOf.length; state++)
      for (let byte = 0; byte < 256; byte++) this.next(state, byte);
    while (this.#expressionOf.length % statesPerPage !== 0) this.#addState(nothing);
  }

  expressionOf(state: LexerState): Expression {
    return this.#expressionOf[state];
  }

  /** Returns the state for a text that the whole expression must match; the dead state if it matches no text. */
  start(expression: Expression): LexerState {
    const known = this.#stateOf.get(expression);
    if (known !== undefined) return known;
    const state = this.isEmpty(expression) ? deadState : this.#addState(expression);
    this.#stateOf.set(expression, state);
    return state;
  }

  next(state: LexerState, byte: number): LexerState {
    const known = this.#pages[state >>> statesPerPageLog2][placeIn(state, byte)];
    return known === unknown ? this.#newNext(state, byte) : known;
  }

  #newNext(state: LexerState, byte: number): LexerState {
    const expression = this.#expressionOf[state];
    const next = this.start(this.expressions.derivative(expression, byte));
    // Fills in the whole class, because its bytes share the next state. Most states have few classes, and computing a
    // mask asks for every byte.
    const { first } = this.expressions.classes(expression);
    const page = this.#pages[state >>> statesPerPageLog2];
    for (let other = 0; other < 256; other++)
      if (first[other] === first[byte]) page[placeIn(state, other)] = next;
    return next;
  }

  /** True if no byte may follow: the text must end in this state. */
  isFinished(state: LexerState): boolean {
    const expression = this.#expressionOf[state];
    if (expression === emptyText || this.expressions.isPlain(expression)) return expression === emptyText;
    return this.expressions.classes(expression).firsts.every((byte) => this.next(state, byte) === deadState);
  }

  /** True if the expression matches the whole text. */
  matches(expression: Expression, text: Uint8Array): boolean {
    const { expressions } = this;
    const rest = text.reduce((left, byte) => expressions.derivative(left, byte), expression);
    return expressions.isNullable(rest);
  }

  /** True if the state accepts at least `count` different continuations. */
  hasTexts(state: LexerState, count: number): boolean {
    return this.#countTexts(state, count, new Set()) >= count;
  }

  /** Returns the number of continuations that the state accepts, capped at `most`. Each live state has at least one. */
  #countTexts(state: LexerState, most: number, path: Set<LexerState>): number {
    if (state === deadState || most <= 1) return state === deadState ? 0 : most;
    // A cycle can be repeated without bound, so it reaches any cap.
    if (path.has(state)) return most;
    path.add(state);
    const { firsts, first } = this.expressions.classes(this.#expressionOf[state]);
    let count = this.isAccepting[state] ? 1 : 0;
    for (const byte of firsts) {
      if (count >= most) break;
      const byteCount = first.reduce((sum, one) => sum + (one === byte ? 1 : 0), 0);
      count +=
        byteCount * this.#countTexts(this.next(state, byte), Math.ceil((most - count) / byteCount), path);
    }
    path.delete(state);
    return Math.min(count, most);
  }

  /** True if no text matches the expression. */
  isEmpty(expression: Expression): boolean {
    const { expressions } = this;
    if (expressions.isPlain(expression)) return expression === nothing;
    const node = expressions.node(expression);
    switch (node.kind) {
      case "sequence":
        return this.isEmpty(node.head) || this.isEmpty(node.tail);
      case "or":
        return node.parts.every((part) => this.isEmpty(part));
      case "repeat":
        return node.min > 0 && this.isEmpty(node.part);
      default:
        return !this.#findMatch(expression);
    }
  }

  #findMatch(expression: Expression): boolean {
    const known = this.#canMatch.get(expression);
    // Searches first without escapes, since each escaped character has several spellings. Most expressions match some
    // unescaped text.
    return known ?? (this.#search(expression, isUnescaped) || this.#search(expression, () => true));
  }

  /**
   * Searches the expression's derivatives, best first as in A*, for one that certainly matches some text; considers
   * only bytes that pass `isTried`. Caches the result for each expression on the path. Any match suffices, so the
   * estimate for a conjunction sums the lengths of its parts: that favours progress on all parts over the shortest
   * match.
   */
  #search(expression: Expression, isTried: (byte: number) => boolean): boolean {
    const { expressions } = this;
    const cameFrom = new Map<Expression, Expression>([[expression, nothing]]);
    const ways = new ShortestFirst();
    let isWhole = true;
    for (let way: Way | null = { at: expression, length: 0 }; way !== null; way = ways.take()) {
      const { at, length } = way;
      if (this.#surelyMatches(at)) {
        for (let on = at; on !== nothing; on = cameFrom.get(on) ?? nothing) this.#canMatch.set(on, true);
        return true;
      }
      for (const byte of expressions.classes(at).firsts) {
        if (!isTried(byte)) {
          isWhole &&= !expressions.mayBegin(at, byte);
          continue;
        }
        const next = expressions.derivative(at, byte);
        if (next === nothing || cameFrom.has(next) || this.#canMatch.get(next) === false) continue;
        cameFrom.set(next, at);
        ways.add({ at: next, length: length + 1 }, length + 1 + expressions.lengthAhead(next));
      }
    }
    if (isWhole) for (const dead of cameFrom.keys()) this.#canMatch.set(dead, false);
    return false;
  }

  #surelyMatches(expression: Expression): boolean {
    if (this.expressions.isNullable(expression) || this.#canMatch.get(expression) === true) return true;
    return this.expressions.isPlain(expression) || this.#matchesCompletion(expression);
  }

  /**
   * True if the fewest digits that complete the number to a multiple of the divisor also match the rest of the
   * conjunction. Without this check, the search would visit most remainders before it finds a match.
   */
  #matchesCompletion(expression: Expression): boolean {
    const { expressions } = this;
    const node = expressions.node(expression);
    if (node.kind !== "and") return false;
    for (const part of node.parts) {
      const inner = expressions.node(part);
      const digits = inner.kind === "multiple" ? completionOf(inner.multiple) : null;
      if (digits !== null) return this.matches(expression, new TextEncoder().encode(digits));
    }
    return false;
  }

  #addState(expression: Expression): LexerState {
    const state = this.#expressionOf.length;
    if (state - this.baseCount >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#budget.spend(1);
    if (state % statesPerPage === 0) this.#pages.push(new Int32Array(statesPerPage * 256).fill(unknown));
    this.#expressionOf.push(expression);
    this.isAccepting.push(this.expressions.isNullable(expression));
    return state;
  }
}

const placeIn = (state: LexerState, byte: number): number => (state % statesPerPage) * 256 + byte;

const isUnescaped = (byte: number): boolean => byte !== 0x5c && byte < 0x80;
