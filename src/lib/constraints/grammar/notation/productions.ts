// Plain productions of a grammar's irregular rules, without rules that never terminate.
import type { StepBudget } from "../../regex/limits.ts";
import type { Automaton } from "../../regex/automaton.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { GrammarSymbol } from "../parser/rules.ts";

/** A regular text, an irregular rule, or the values of a schema. */
export type Piece =
  | { readonly text: Expression }
  | { readonly rule: string }
  | { readonly schema: GrammarSymbol };
export type Pieces = readonly Piece[];
export type ProductionsByRule = ReadonlyMap<string, readonly Pieces[]>;

/** Keeps only productions that match some text. */
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
  // Reversed, since rules mostly refer to later ones.
  const order = [...rules].reverse();
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    budget.spend(order.length >>> 2);
    for (const [name, productions] of order)
      if (!ending.has(name) && productions.some(ends)) ending.add(name);
  }
  return new Map([...rules].map(([name, productions]) => [name, productions.filter(ends)]));
}
