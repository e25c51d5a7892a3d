// The deterministic automaton of a constraint's expressions, made only where it is walked. A state is an expression that
// can still match something; everything else is the dead state, so that no way through the automaton ends nowhere.
import { limitExceeded } from "../limits.ts";
import type { GrammarLimits, StepBudget } from "../limits.ts";
import { emptyText, nothing } from "./expressions.ts";
import type { Expression, Expressions } from "./expressions.ts";

export type LexerState = number;
export const deadState: LexerState = 0;

const unknown = -1;
const initialCapacity = 64;

export class Automaton {
  readonly expressions: Expressions;
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  /** The next state, or -1 where it was never asked, at [state * 256 + byte]. */
  #table = new Int32Array(initialCapacity * 256).fill(unknown);
  #isAccepting = new Uint8Array(initialCapacity);
  readonly #expressionOf: Expression[] = [nothing];
  readonly #stateOf = new Map<Expression, LexerState>([[nothing, deadState]]);
  /** Whether an expression that is not plain can match at all. */
  readonly #canMatch = new Map<Expression, boolean>();

  constructor(expressions: Expressions, limits: GrammarLimits, budget: StepBudget) {
    this.expressions = expressions;
    this.#limits = limits;
    this.#budget = budget;
    this.#table.fill(deadState, 0, 256);
  }

  /** The rows of the table so far; replaced when it grows, so ask again after {@link next}. */
  get table(): Int32Array {
    return this.#table;
  }

  /** 1 for a state whose text may end here. */
  get isAccepting(): Uint8Array {
    return this.#isAccepting;
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
    const known = this.#table[state * 256 + byte];
    if (known !== unknown) return known;
    const next = this.start(this.expressions.derivative(this.#expressionOf[state], byte));
    this.#table[state * 256 + byte] = next;
    return next;
  }

  /** Whether the state's text must end here. */
  isFinished(state: LexerState): boolean {
    const expression = this.#expressionOf[state];
    if (expression === emptyText || this.expressions.isPlain(expression)) return expression === emptyText;
    return this.expressions.classes.firsts.every((byte) => this.next(state, byte) === deadState);
  }

  /** Whether a text matches as a whole. */
  matches(expression: Expression, text: Uint8Array): boolean {
    let state = this.start(expression);
    for (const byte of text) state = this.next(state, byte);
    return this.#isAccepting[state] === 1;
  }

  /**
   * Whether no text matches the expression: a search for an accepting one among its derivatives, remembered for every
   * expression on the way.
   */
  isEmpty(expression: Expression): boolean {
    const { expressions } = this;
    if (expressions.isPlain(expression)) return expression === nothing;
    const known = this.#canMatch.get(expression);
    if (known !== undefined) return !known;
    const visited = new Set([expression]);
    const path: { readonly at: Expression; branch: number }[] = [{ at: expression, branch: 0 }];
    for (let step = path.at(-1); step !== undefined; step = path.at(-1)) {
      if (this.#surelyMatches(step.at)) {
        for (const { at } of path) this.#canMatch.set(at, true);
        return false;
      }
      const next = this.#unvisited(step, visited);
      if (next === null) path.pop();
      else path.push({ at: next, branch: 0 });
    }
    for (const dead of visited) this.#canMatch.set(dead, false);
    return true;
  }

  #surelyMatches(expression: Expression): boolean {
    if (this.expressions.isNullable(expression) || this.#canMatch.get(expression) === true) return true;
    return expression !== nothing && this.expressions.isPlain(expression);
  }

  #unvisited(step: { readonly at: Expression; branch: number }, visited: Set<Expression>): Expression | null {
    const { firsts } = this.expressions.classes;
    while (step.branch < firsts.length) {
      const next = this.expressions.derivative(step.at, firsts[step.branch]);
      step.branch += 1;
      if (next === nothing || visited.has(next) || this.#canMatch.get(next) === false) continue;
      visited.add(next);
      return next;
    }
    return null;
  }

  #addState(expression: Expression): LexerState {
    const state = this.#expressionOf.length;
    if (state >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#budget.spend(1);
    if ((state + 1) * 256 > this.#table.length) this.#grow();
    this.#expressionOf.push(expression);
    this.#isAccepting[state] = this.expressions.isNullable(expression) ? 1 : 0;
    return state;
  }

  #grow(): void {
    const table = new Int32Array(this.#table.length * 2).fill(unknown);
    table.set(this.#table);
    const isAccepting = new Uint8Array(this.#isAccepting.length * 2);
    isAccepting.set(this.#isAccepting);
    this.#table = table;
    this.#isAccepting = isAccepting;
  }
}
