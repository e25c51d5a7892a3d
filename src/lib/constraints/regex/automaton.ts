// The deterministic automaton of a constraint's expressions, made only where it is walked. A state is an expression that
// can still match something; everything else is the dead state, so that no way through the automaton ends nowhere.
import { limitExceeded } from "./limits.ts";
import type { GrammarLimits, StepBudget } from "./limits.ts";
import { emptyText, nothing } from "./expressions.ts";
import { GrownMap } from "./grown-map.ts";
import { completionOf } from "./multiple.ts";
import type { Expression, Expressions } from "./expressions.ts";

export type LexerState = number;
export const deadState: LexerState = 0;

const unknown = -1;

/** States have their rows in pages, which go nowhere when more are made, and which automata can share. */
const [statesPerPage, statesPerPageLog2] = [16, 4];

/** Measured: a state's expression and its place among all. */
const bytesPerState = 60;
const bytesPerPage = statesPerPage * 256 * Int32Array.BYTES_PER_ELEMENT;

/** An expression, and how many bytes led to it. */
interface Way {
  readonly at: Expression;
  readonly length: number;
}

/** Ways to go on with, by the length of a text through each, about; of equal ones the last added first. */
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

/** Longer texts are not told apart. */
const lengthMax = 4_095;

export class Automaton {
  readonly expressions: Expressions;
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  /** The next state, or -1 where it was never asked, at [state % 16 * 256 + byte] of the state's page. */
  readonly #pages: Int32Array[];
  /** By state, whether its text may end here. */
  readonly isAccepting: boolean[];
  readonly #expressionOf: Expression[];
  readonly #stateOf: GrownMap<Expression, LexerState>;
  /** Whether an expression that is not plain can match at all. */
  readonly #canMatch: GrownMap<Expression, boolean>;
  /** How many states it goes on from. */
  readonly groundCount: number;

  /** @param ground whose states, all of them with all that they lead to, are the same here; see {@link complete} */
  constructor(expressions: Expressions, limits: GrammarLimits, budget: StepBudget, ground?: Automaton) {
    this.expressions = expressions;
    this.#limits = limits;
    this.#budget = budget;
    const before = <Part>(read: (one: Automaton) => Part): Part | undefined =>
      ground === undefined ? undefined : read(ground);
    this.#pages = before((one) => one.#pages)?.slice() ?? [];
    this.isAccepting = ground?.isAccepting.slice() ?? [];
    this.#expressionOf = before((one) => one.#expressionOf)?.slice() ?? [];
    this.#stateOf = new GrownMap(before((one) => one.#stateOf));
    this.#canMatch = new GrownMap(before((one) => one.#canMatch));
    this.groundCount = this.#expressionOf.length;
    if (ground === undefined) this.#stateOf.set(nothing, this.#addState(nothing));
  }

  /** About what all this takes, with its expressions, beyond what it goes on from. */
  get byteLength(): number {
    const states = this.#expressionOf.length * bytesPerState;
    const ownPages = this.#pages.length - this.groundCount / statesPerPage;
    return this.expressions.byteLength + states + ownPages * bytesPerPage;
  }

  /** Finds all that its states lead to, and adds none any more, so that others can go on from it. */
  complete(): void {
    // The states that it reaches are looked at too.
    for (let state = 0; state < this.#expressionOf.length; state++)
      for (let byte = 0; byte < 256; byte++) this.next(state, byte);
    while (this.#expressionOf.length % statesPerPage !== 0) this.#addState(nothing);
  }

  expressionOf(state: LexerState): Expression {
    return this.#expressionOf[state];
  }

  /** Where a text of the expression starts; dead if there is none. */
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
    // Bytes of one class lead to the same state: most states have few classes, and are asked for every byte.
    const { first } = this.expressions.classes(expression);
    const page = this.#pages[state >>> statesPerPageLog2];
    for (let other = 0; other < 256; other++)
      if (first[other] === first[byte]) page[placeIn(state, other)] = next;
    return next;
  }

  /** Whether the state's text must end here. */
  isFinished(state: LexerState): boolean {
    const expression = this.#expressionOf[state];
    if (expression === emptyText || this.expressions.isPlain(expression)) return expression === emptyText;
    return this.expressions.classes(expression).firsts.every((byte) => this.next(state, byte) === deadState);
  }

  /** Whether a text matches as a whole. */
  matches(expression: Expression, text: Uint8Array): boolean {
    const { expressions } = this;
    const rest = text.reduce((left, byte) => expressions.derivative(left, byte), expression);
    return expressions.isNullable(rest);
  }

  /** Whether at least so many texts lead from the state to an end. */
  hasTexts(state: LexerState, count: number): boolean {
    return this.#countTexts(state, count, new Set()) >= count;
  }

  /** Texts from the state on, up to so many; every state but the dead one has one. */
  #countTexts(state: LexerState, most: number, path: Set<LexerState>): number {
    if (state === deadState || most <= 1) return state === deadState ? 0 : most;
    // A way back to a state can be gone any number of times.
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

  /** Whether no text matches the expression. */
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
    // Most have a text without escapes, which spell every character in several ways.
    return known ?? (this.#search(expression, isUnescaped) || this.#search(expression, () => true));
  }

  /**
   * Searches the derivatives by these bytes for one that surely matches something, and remembers what it found of every
   * expression on the way. Best first, as A* does; but any match will do, so the way ahead is the sum of what the parts of
   * a conjunction want, which leads to all of it, rather than the greatest, which leads to the shortest match.
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

  /** Whether the next multiple of what was read matches: a search would try most remainders before it came to one. */
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
    if (state - this.groundCount >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#budget.spend(1);
    if (state % statesPerPage === 0) this.#pages.push(new Int32Array(statesPerPage * 256).fill(unknown));
    this.#expressionOf.push(expression);
    this.isAccepting.push(this.expressions.isNullable(expression));
    return state;
  }
}

const placeIn = (state: LexerState, byte: number): number => (state % statesPerPage) * 256 + byte;

const isUnescaped = (byte: number): boolean => byte !== 0x5c && byte < 0x80;
