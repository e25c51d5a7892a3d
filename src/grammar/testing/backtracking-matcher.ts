// The naive twin of the parser: every way through the rules is followed for itself, byte after byte, with no states,
// tables or sets of stacks. Takes the rules and the derivatives of expressions as given.
import type { Expression } from "../../regex/expressions.ts";
import type { Language } from "../language.ts";
import { isTerminal, symbolIndex } from "../parser/rules.ts";
import type { GrammarSymbol, Production } from "../parser/rules.ts";

/** What is still to come: a symbol, and what comes after it; null where nothing is. */
type Rest = { readonly symbol: GrammarSymbol; readonly after: Rest } | null;

/** One way to read the text so far: what is left of a lexeme, and what comes after it. */
interface Way {
  readonly lexeme: Expression;
  readonly after: Rest;
}

/** Every way to read a text so far. */
export interface Reading {
  readonly ways: readonly Way[];
  /** Whether the text may end here. */
  readonly mayEnd: boolean;
}

export class BacktrackingMatcher {
  readonly #language: Language;
  /** Equal rests are one value, so that equal ways are found. */
  readonly #rests = new Map<Rest, Map<GrammarSymbol, Rest>>();

  constructor(language: Language) {
    this.#language = language;
  }

  /** Before the first byte. */
  start(): Reading {
    const ways: Way[] = [];
    const mayEnd = this.#open(this.#push([this.#language.symbol], null), ways, new Set());
    return { ways, mayEnd };
  }

  after({ ways }: Reading, byte: number): Reading {
    const { automaton } = this.#language.machine;
    const { expressions } = automaton;
    const next: Way[] = [];
    const opened = new Set<Rest>();
    let mayEnd = false;
    const { recalls } = this.#language.machine;
    for (const { lexeme, after: before } of ways) {
      const left = expressions.derivative(lexeme, byte);
      if (automaton.isEmpty(left)) continue;
      const after = before && this.#push([recalls.after(before.symbol, byte)], before.after);
      add(next, { lexeme: left, after });
      if (expressions.isNullable(left) && this.#open(after, next, opened)) mayEnd = true;
    }
    return { ways: next, mayEnd };
  }

  /** Whether some text begins so. */
  isAlive({ ways, mayEnd }: Reading): boolean {
    const { automaton } = this.#language.machine;
    const { expressions } = automaton;
    const goesOn = ({ lexeme }: Way): boolean =>
      expressions
        .classes(lexeme)
        .firsts.some((byte) => !automaton.isEmpty(expressions.derivative(lexeme, byte)));
    return mayEnd || ways.some(goesOn);
  }

  /** Adds the ways on which what is still to come may begin; whether it may be nothing. */
  #open(rest: Rest, ways: Way[], opened: Set<Rest>): boolean {
    if (rest === null) return true;
    if (opened.has(rest)) return false;
    opened.add(rest);
    const { symbol, after } = rest;
    if (!isTerminal(symbol)) {
      const productions = this.#language.rules.productions(symbol);
      return productions
        .map((production) => this.#open(this.#push(production, after), ways, opened))
        .some(Boolean);
    }
    const lexeme = symbolIndex(symbol);
    add(ways, { lexeme, after });
    const { expressions } = this.#language.machine.automaton;
    return expressions.isNullable(lexeme) && this.#open(after, ways, opened);
  }

  #push(production: Production, after: Rest): Rest {
    return production.reduceRight<Rest>((rest, symbol) => {
      const known = this.#rests.get(rest) ?? new Map<GrammarSymbol, Rest>();
      this.#rests.set(rest, known);
      const pushed = known.get(symbol) ?? { symbol, after: rest };
      known.set(symbol, pushed);
      return pushed;
    }, after);
  }
}

function add(ways: Way[], way: Way): void {
  if (!ways.some(({ lexeme, after }) => lexeme === way.lexeme && after === way.after)) ways.push(way);
}
