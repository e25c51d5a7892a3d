// A context-free grammar whose terminals are expressions. Rules are created on demand: their names may contain counters
// and sets, which have too many combinations to create in advance.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits } from "../../regex/limits.ts";
import type { Expression } from "../../regex/expressions.ts";

/** A terminal (twice the number of its expression) or a rule (twice its number, plus one). */
export type GrammarSymbol = number;
/** A sequence of symbols. */
export type Production = readonly GrammarSymbol[];
/** The alternatives of a rule. */
export type Productions = readonly Production[];

export const terminal = (expression: Expression): GrammarSymbol => expression * 2;
export const isTerminal = (symbol: GrammarSymbol): boolean => symbol % 2 === 0;
/** Returns the number of the symbol's expression or rule. */
export const symbolIndex = (symbol: GrammarSymbol): number => Math.floor(symbol / 2);

export class Rules {
  readonly #limits: GrammarLimits;
  readonly #makers: (() => Productions)[];
  readonly #made: (Productions | undefined)[];
  readonly #named = new Map<string, GrammarSymbol>();

  /** @param beside rules of the same parser; this object continues their symbol numbers */
  constructor(limits: GrammarLimits, beside?: Rules) {
    this.#limits = limits;
    this.#makers = beside === undefined ? [] : beside.#makers;
    this.#made = beside === undefined ? [] : beside.#made;
  }

  /**
   * Returns an object that adds rules to the same parser but has separate rule names, for a grammar embedded in
   * another.
   */
  apart(): Rules {
    return new Rules(this.#limits, this);
  }

  /** Returns the rule with this name. Calls `make` at most once; `make` may itself request the rule. */
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

  /** Adds an anonymous rule. */
  add(make: () => Productions): GrammarSymbol {
    if (this.#makers.length >= this.#limits.states) throw limitExceeded("states", this.#limits.states);
    this.#makers.push(make);
    return this.#makers.length * 2 - 1;
  }
}
