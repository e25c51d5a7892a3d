// The parser: a lazily built pushdown automaton. Its state is a set of active lexemes, each with the stacks that may
// follow. A lexeme may end wherever its expression accepts, so the parser accepts exactly the grammar's texts, even if
// rules are ambiguous, empty or left-recursive.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { FirstSets } from "./first-sets.ts";
import type { Recalls } from "./recalls.ts";
import type { GrammarSymbol, Production, Rules } from "./rules.ts";
import { StackTable } from "./stack-table.ts";
import { endStack, noStacks } from "./stacks.ts";
import type { Stacks } from "./stacks.ts";

export type ParserState = number;
/** The state from which no text can be completed. */
export const deadParser: ParserState = 0;

const unknown = -1;

/** The active lexemes of a state (`lexers`), each with the stacks that may follow it (`follows`). */
export interface Threads {
  readonly lexers: readonly LexerState[];
  readonly follows: readonly Stacks[];
  /** True if the text may end here. */
  readonly mayEnd: boolean;
}

/** Measured memory in bytes of a state (its threads and their key), and of the state's row of transitions. */
const [bytesPerState, bytesPerRow] = [500, 1200];

export class Machine {
  readonly automaton: Automaton;
  readonly recalls: Recalls;
  readonly #beginnings: FirstSets;
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  readonly #stacks: StackTable;
  readonly #states: Threads[] = [];
  readonly #rows: (Int32Array | undefined)[] = [];
  #rowCount = 0;
  readonly #known = new Map<string, ParserState>();
  readonly #opened = new Map<Stacks, ParserState>();
  /** For each set of stacks: true if a top symbol depends on the text of the preceding lexeme. */
  readonly #isRecalling: (boolean | undefined)[] = [];

  constructor(
    {
      automaton,
      rules,
      recalls,
    }: { readonly automaton: Automaton; readonly rules: Rules; readonly recalls: Recalls },
    limits: GrammarLimits,
    budget: StepBudget,
  ) {
    this.automaton = automaton;
    this.recalls = recalls;
    this.#limits = limits;
    this.#budget = budget;
    this.#stacks = new StackTable(limits, budget);
    this.#beginnings = new FirstSets({ automaton, rules, stacks: this.#stacks }, budget);
    this.#intern(new Map(), false);
  }

  /** Returns the state before the first byte of a text that the production must match. */
  start(production: Production): ParserState {
    return this.open(this.#stacks.push(production, endStack));
  }

  /** Approximate memory in bytes, including the automaton. */
  get byteLength(): number {
    const own = this.#states.length * bytesPerState + this.#rowCount * bytesPerRow;
    return this.automaton.byteLength + this.#stacks.byteLength + own;
  }

  threads(state: ParserState): Threads {
    return this.#states[state];
  }

  next(state: ParserState, byte: number): ParserState {
    const row = (this.#rows[state] ??= this.#newRow());
    if (row[byte] === unknown) row[byte] = this.#step(state, byte);
    return row[byte];
  }

  /** Returns the state before the first byte of a text that one of the stacks must match. */
  open(stacks: Stacks): ParserState {
    const known = this.#opened.get(stacks);
    if (known !== undefined) return known;
    const threads = new Map<LexerState, Stacks>();
    const mayEnd = this.#openInto(threads, stacks, new Set());
    const state = this.#intern(threads, mayEnd);
    this.#opened.set(stacks, state);
    return state;
  }

  /** True if the symbols after a lexeme depend on the lexeme's text. */
  isRecalling(stacks: Stacks): boolean {
    const { recalls } = this;
    return (this.#isRecalling[stacks] ??= this.#stacks.tops(stacks).symbols.some((top) => recalls.has(top)));
  }

  /** Returns the stacks that follow a lexeme of unknown text; see {@link Recall}. */
  withoutText(stacks: Stacks): Stacks {
    if (!this.isRecalling(stacks)) return stacks;
    return this.#withTops(stacks, (top) => this.recalls.withoutText(top));
  }

  /**
   * Returns the text of the lexeme so far, once for each top symbol that depends on it. Omits texts of more than
   * `lengthMax` bytes.
   */
  recalledTexts(stacks: Stacks, lengthMax: number): readonly Uint8Array[] {
    const { recalls } = this;
    const isShort = (top: GrammarSymbol) => recalls.has(top) && recalls.lengthOf(top) <= lengthMax;
    return this.#stacks
      .tops(stacks)
      .symbols.filter(isShort)
      .map((top) => recalls.textOf(top));
  }

  /** True if a lexeme whose text is being recorded has begun, and at most one text can complete it. */
  isScarce(state: ParserState): boolean {
    const { recalls } = this;
    const { lexers, follows } = this.#states[state];
    return follows.some(
      (stacks, index) =>
        this.#stacks.tops(stacks).symbols.some((top) => recalls.lengthOf(top) > 0) &&
        !this.automaton.hasTexts(lexers[index], 2),
    );
  }

  /** Returns the stacks after recording one more byte of the lexeme. */
  #recalled(stacks: Stacks, byte: number): Stacks {
    return this.#withTops(stacks, (top) => this.recalls.after(top, byte));
  }

  #withTops(stacks: Stacks, changed: (top: GrammarSymbol) => GrammarSymbol): Stacks {
    const { mayEnd, symbols, below } = this.#stacks.tops(stacks);
    return symbols.reduce(
      (all, top, index) => this.#stacks.union(all, this.#stacks.push([changed(top)], below[index])),
      mayEnd ? endStack : noStacks,
    );
  }

  #newRow(): Int32Array {
    this.#rowCount += 1;
    return new Int32Array(256).fill(unknown);
  }

  #step(state: ParserState, byte: number): ParserState {
    const { automaton } = this;
    const { lexers, follows } = this.#states[state];
    const threads = new Map<LexerState, Stacks>();
    let mayEnd = false;
    this.#budget.spend(1 + (lexers.length >>> 2));
    for (let index = 0; index < lexers.length; index++) {
      const lexer = automaton.next(lexers[index], byte);
      if (lexer === deadState) continue;
      const follow = this.isRecalling(follows[index]) ? this.#recalled(follows[index], byte) : follows[index];
      if (!automaton.isFinished(lexer)) this.#add(threads, lexer, follow);
      if (!automaton.isAccepting[lexer]) continue;
      const after = this.#states[this.open(follow)];
      mayEnd ||= after.mayEnd;
      for (const [other, start] of after.lexers.entries()) this.#add(threads, start, after.follows[other]);
    }
    return this.#intern(threads, mayEnd);
  }

  #add(threads: Map<LexerState, Stacks>, lexer: LexerState, follow: Stacks): void {
    const known = threads.get(lexer);
    threads.set(lexer, known === undefined ? follow : this.#stacks.union(known, follow));
  }

  /** Adds the lexemes that the stacks may begin with. Returns true if the text may also end here. */
  #openInto(threads: Map<LexerState, Stacks>, stacks: Stacks, seen: Set<Stacks>): boolean {
    if (seen.has(stacks)) return false;
    seen.add(stacks);
    const { symbols, below, ...tops } = this.#stacks.tops(stacks);
    let { mayEnd } = tops;
    for (const [index, symbol] of symbols.entries()) {
      const starts = this.#beginnings.starts(symbol);
      this.#budget.spend(1 + starts.length);
      for (const { lexer, rest } of starts)
        this.#add(threads, lexer, this.#stacks.concat(rest, below[index]));
      if (this.#beginnings.mayBeEmpty(symbol) && this.#openInto(threads, below[index], seen)) mayEnd = true;
    }
    return mayEnd;
  }

  #intern(threads: ReadonlyMap<LexerState, Stacks>, mayEnd: boolean): ParserState {
    const lexers = [...threads.keys()].sort((one, other) => one - other);
    const follows = lexers.map((lexer) => threads.get(lexer) ?? noStacks);
    const key = `${mayEnd ? "." : ""}${lexers.join(",")};${follows.join(",")}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const state = this.#states.length;
    if (state >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#budget.spend(1 + lexers.length);
    this.#states.push({ lexers, follows, mayEnd });
    this.#known.set(key, state);
    return state;
  }
}
