// What is still to come after a lexeme: sets of stacks of grammar symbols as small integers. Equal sets are the same
// number, and stacks with the same top share it (a graph-structured stack without circles), so that ambiguity costs
// little and a state that returns is known again.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import type { GrammarSymbol } from "./rules.ts";

export type Stacks = number;

/** No stack at all. */
export const noStacks: Stacks = 0;
/** The one empty stack: nothing must follow. */
export const endStack: Stacks = 1;

/** The stacks by their top symbol. */
export interface StackTops {
  readonly mayEnd: boolean;
  /** Sorted, each once. */
  readonly symbols: readonly GrammarSymbol[];
  /** For each symbol what lies under it. */
  readonly below: readonly Stacks[];
}

/** Measured: the tops of a set of stacks with their name. */
const bytesPerStacks = 350;

export class StackTable {
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  readonly #tops: StackTops[] = [];
  readonly #known = new Map<string, Stacks>();

  constructor(limits: GrammarLimits, budget: StepBudget) {
    this.#limits = limits;
    this.#budget = budget;
    this.#intern({ mayEnd: false, symbols: [], below: [] });
    this.#intern({ mayEnd: true, symbols: [], below: [] });
  }

  /** About what all this takes. */
  get byteLength(): number {
    return this.#tops.length * bytesPerStacks;
  }

  tops(stacks: Stacks): StackTops {
    return this.#tops[stacks];
  }

  /** The stacks with the symbols on top of each, the first topmost. */
  push(symbols: readonly GrammarSymbol[], stacks: Stacks): Stacks {
    if (stacks === noStacks) return noStacks;
    return symbols.reduceRight(
      (below, symbol) => this.#intern({ mayEnd: false, symbols: [symbol], below: [below] }),
      stacks,
    );
  }

  union(one: Stacks, other: Stacks): Stacks {
    if (one === other || other === noStacks) return one;
    if (one === noStacks) return other;
    this.#budget.spend(1);
    const below = new Map<GrammarSymbol, Stacks>();
    for (const { symbols, below: parts } of [this.#tops[one], this.#tops[other]]) {
      for (const [index, symbol] of symbols.entries())
        below.set(symbol, this.union(below.get(symbol) ?? noStacks, parts[index]));
    }
    const symbols = [...below.keys()].sort((first, second) => first - second);
    return this.#intern({
      mayEnd: this.#tops[one].mayEnd || this.#tops[other].mayEnd,
      symbols,
      below: symbols.map((symbol) => below.get(symbol) ?? noStacks),
    });
  }

  #intern(tops: StackTops): Stacks {
    const key = `${tops.mayEnd ? "." : ""}${tops.symbols.join(",")};${tops.below.join(",")}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    if (this.#tops.length >= this.#limits.states * 4) throw limitExceeded("states", this.#limits.states);
    this.#budget.spend(1);
    this.#tops.push(tops);
    this.#known.set(key, this.#tops.length - 1);
    return this.#tops.length - 1;
  }
}
