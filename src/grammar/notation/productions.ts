// The rules of a grammar that are not regular as plain productions, and what makes them fit for the parser: no rule that
// never ends, and none that begins with itself.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import type { Automaton } from "../../regex/automaton.ts";
import type { Expression } from "../../regex/expressions.ts";
import type { GrammarSymbol } from "../parser/rules.ts";

/** A regular piece of text, a rule that is not, or the values of a schema. */
export type Piece =
  | { readonly text: Expression }
  | { readonly rule: string }
  | { readonly schema: GrammarSymbol };
export type Pieces = readonly Piece[];
export type ProductionsByRule = ReadonlyMap<string, readonly Pieces[]>;

/** Only the productions that some text matches. */
export function withoutEndless(
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
  // Rules mostly name later ones.
  const order = [...rules].reverse();
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    budget.spend(order.length >>> 2);
    for (const [name, productions] of order)
      if (!ending.has(name) && productions.some(ends)) ending.add(name);
  }
  return new Map([...rules].map(([name, productions]) => [name, productions.filter(ends)]));
}

/**
 * The same texts by rules that do not begin with themselves (Paull's algorithm: Hopcroft, Motwani, Ullman call it the
 * elimination of left recursion). What begins with itself behind something that may be empty stays as it is.
 */
export function withoutLeftRecursion(
  rules: ProductionsByRule,
  limits: GrammarLimits,
  budget: StepBudget,
): ProductionsByRule {
  const result = new Map(rules);
  for (const circle of circlesOf(rules)) {
    for (const [index, name] of circle.entries()) {
      let productions = result.get(name) ?? [];
      for (const other of circle.slice(0, index)) {
        budget.spend(1 + (productions.length >>> 2));
        productions = productions.flatMap((pieces) =>
          isRule(pieces.at(0), other)
            ? (result.get(other) ?? []).map((inner) => [...inner, ...pieces.slice(1)])
            : [pieces],
        );
        if (productions.length > limits.alternatives * 8)
          throw limitExceeded("alternatives", limits.alternatives);
      }
      result.set(name, productions);
      unrolled(result, name);
    }
  }
  return result;
}

/** A ::= A x | y becomes A ::= y T with T ::= x T | nothing. */
function unrolled(rules: Map<string, readonly Pieces[]>, name: string): void {
  const productions = rules.get(name) ?? [];
  const repeated = productions
    .filter((pieces) => isRule(pieces.at(0), name))
    .map((pieces) => pieces.slice(1));
  if (repeated.length === 0) return;
  const tail = { rule: `${name} goes on` };
  const first = productions.filter((pieces) => !isRule(pieces.at(0), name));
  rules.set(
    name,
    first.map((pieces) => [...pieces, tail]),
  );
  rules.set(tail.rule, [
    [],
    ...repeated.filter((pieces) => pieces.length > 0).map((pieces) => [...pieces, tail]),
  ]);
}

const isRule = (piece: Piece | undefined, name: string): boolean =>
  piece !== undefined && "rule" in piece && piece.rule === name;

/** The rules that begin with each other together (Tarjan's algorithm), each in the order in which they stand. */
function circlesOf(rules: ProductionsByRule): readonly (readonly string[])[] {
  const order = new Map([...rules.keys()].map((name, index) => [name, index]));
  const found: string[][] = [];
  const numbers = new Map<string, number>();
  const way: string[] = [];
  const isOnWay = new Set<string>();
  const visit = (name: string): number => {
    const number = numbers.size;
    numbers.set(name, number);
    way.push(name);
    isOnWay.add(name);
    let lowest = number;
    for (const first of firstRules(rules, name)) {
      const known = numbers.get(first);
      if (known === undefined) lowest = Math.min(lowest, visit(first));
      else if (isOnWay.has(first)) lowest = Math.min(lowest, known);
    }
    if (lowest === number) {
      const circle = way.splice(way.lastIndexOf(name));
      for (const member of circle) isOnWay.delete(member);
      found.push(circle.sort((one, other) => (order.get(one) ?? 0) - (order.get(other) ?? 0)));
    }
    return lowest;
  };
  for (const name of rules.keys()) if (!numbers.has(name)) visit(name);
  return found;
}

/** The rules that a rule's productions begin with. */
function firstRules(rules: ProductionsByRule, name: string): readonly string[] {
  return (rules.get(name) ?? []).flatMap((pieces) => {
    const first = pieces.at(0);
    return first !== undefined && "rule" in first ? [first.rule] : [];
  });
}
