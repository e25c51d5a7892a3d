// Sets of stacks of grammar symbols. A stack lists the symbols that must still be matched after a lexeme, next symbol
// on top. Each set is a small integer assigned by stack-table.ts.
import type { GrammarSymbol } from "./rules.ts";

export type Stacks = number;

/** The empty set: no text can continue. */
export const noStacks: Stacks = 0;
/** The set that contains only the empty stack: the text must end. */
export const endStack: Stacks = 1;

/** The stacks of a set, grouped by their top symbol. */
export interface StackTops {
  readonly mayEnd: boolean;
  /** Top symbols, sorted and unique. */
  readonly symbols: readonly GrammarSymbol[];
  /** For each top symbol, the set of stacks below it. */
  readonly below: readonly Stacks[];
}
