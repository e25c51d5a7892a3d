// A context-free grammar whose terminals are expressions, as rules made when they are first asked for: counters and sets
// that a rule's name carries would otherwise be multiplied out beforehand.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits } from "../../regex/limits.ts";
import type { Expression } from "../../regex/expressions.ts";

/** A terminal (an expression, doubled) or a rule (its number, doubled, plus one). */
export type GrammarSymbol = number;
/** Symbols one after the other. */
export type Production = readonly GrammarSymbol[];
/** What a rule stands for: any of these. */
export type Productions = readonly Production[];

export const terminal = (expression: Expression): GrammarSymbol => expression * 2;
export const isTerminal = (symbol: GrammarSymbol): boolean => symbol % 2 === 0;
/** The expression or the rule that the symbol stands for. */
export const symbolIndex = (symbol: GrammarSymbol): number => Math.floor(symbol / 2);

export class Rules {
  readonly #limits: GrammarLimits;
  readonly #makers: (() => Productions)[];
  readonly #made: (Productions | undefined)[];
  readonly #named = new Map<string, GrammarSymbol>();

  /** @param beside rules that a parser has together with these */
  constructor(limits: GrammarLimits, beside?: Rules) {
    this.#limits = limits;
    this.#makers = beside === undefined ? [] : beside.#makers;
    this.#made = beside === undefined ? [] : beside.#made;
  }

  /** Rules of the same parser whose names mean others than here: for a grammar within a grammar. */
  apart(): Rules {
    return new Rules(this.#limits, this);
  }

  /** The rule of the given name; `make` is called at most once, and may ask for this rule again. */
  rule(name: string, make: () => Productions): GrammarSymbol {
    const known = this.#named.get(name);
    if (known !== undefined) return known;
    const symbol = this.add(make);
    this.#named.set(name, symbol);
    return symbol;
  }

  productions(rule: GrammarSymbol): Productions {
    const index = symbolIndex(rule);
    const made = this.#made[index] ?? this.#makers[index]();
    this.#made[index] = made;
    return made;
  }

  /** A rule that nobody else asks for. */
  add(make: () => Productions): GrammarSymbol {
    if (this.#makers.length >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#makers.push(make);
    return this.#makers.length * 2 - 1;
  }
}
