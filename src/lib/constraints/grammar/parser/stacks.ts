// What is still to come after a lexeme: sets of stacks of grammar symbols, as small integers that stack-table.ts gives.
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
