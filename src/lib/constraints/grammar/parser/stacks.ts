// Sets of stacks of grammar symbols, which represent the text still to come after a lexeme. They are small integers
// from stack-table.ts.
import type { GrammarSymbol } from "./rules.ts";

export type Stacks = number;

/** The empty set. */
export const noStacks: Stacks = 0;
/** Only the empty stack: nothing must follow. */
export const endStack: Stacks = 1;

/** The stacks grouped by their top symbol. */
export interface StackTops {
  readonly mayEnd: boolean;
  /** Sorted and unique. */
  readonly symbols: readonly GrammarSymbol[];
  /** For each symbol, the stacks below it. */
  readonly below: readonly Stacks[];
}
