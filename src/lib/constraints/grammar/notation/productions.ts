// Productions of a grammar's irregular rules, and the removal of those that match no text.
import type { StepBudget } from "../../regex/limits.ts";
import type { Automaton } from "../../regex/automaton.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { GrammarSymbol } from "../parser/rules.ts";

/** Element of a production: a regular text, an irregular rule, or the values of a schema. */
export type Piece =
  | { readonly text: Expression }
  | { readonly rule: string }
  | { readonly schema: GrammarSymbol };
export type Pieces = readonly Piece[];
export type ProductionsByRule = ReadonlyMap<string, readonly Pieces[]>;

/** Returns the rules with only those productions that match some text. */
export function keepProductive(
  rules: ProductionsByRule,
  automaton: Automaton,
  budget: StepBudget,
): ProductionsByRule {
  const ending = new Set<string>();
  const ends = (pieces: Pieces): boolean =>
    pieces.every((piece) => {
      if ("rule" in piece) return ending.has(piece.rule);
      return "schema" in piece || !automaton.isEmpty(piece.text);
    });
  // Iterates in reverse order, because rules mostly refer to later rules.
  const order = [...rules].reverse();
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    budget.spend(order.length >>> 2);
    for (const [name, productions] of order)
      if (!ending.has(name) && productions.some(ends)) ending.add(name);
  }
  return new Map([...rules].map(([name, productions]) => [name, productions.filter(ends)]));
}
