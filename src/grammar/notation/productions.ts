// The rules of a grammar that are not regular as plain productions, and what makes them fit for the parser: no rule that never ends,
// and none that begins with itself.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits } from "../../regex/limits.ts";
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
  isEmpty: (text: Expression) => boolean,
): ProductionsByRule {
  const ending = new Set<string>();
  const ends = (pieces: Pieces): boolean =>
    pieces.every((piece) => {
      if ("rule" in piece) return ending.has(piece.rule);
      return "schema" in piece || !isEmpty(piece.text);
    });
  for (let before = -1; before < ending.size;) {
    before = ending.size;
    for (const [name, productions] of rules) if (productions.some(ends)) ending.add(name);
  }
  return new Map([...rules].map(([name, productions]) => [name, productions.filter(ends)]));
}

/**
 * The same texts by rules that do not begin with themselves (Paull's algorithm: Hopcroft, Motwani, Ullman call it the
 * elimination of left recursion). What begins with itself behind something that may be empty stays as it is.
 */
export function withoutLeftRecursion(rules: ProductionsByRule, limits: GrammarLimits): ProductionsByRule {
  const result = new Map(rules);
  const names = [...rules.keys()];
  for (const [index, name] of names.entries()) {
    const earlier = new Set(
      names
        .slice(0, index)
        .filter((other) => beginsWith(result, name).has(other) && beginsWith(result, other).has(name)),
    );
    let productions = result.get(name) ?? [];
    for (const other of names.slice(0, index)) {
      if (!earlier.has(other)) continue;
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

/** The rules that a rule's texts may begin with. */
function beginsWith(rules: ProductionsByRule, name: string): ReadonlySet<string> {
  const found = new Set<string>();
  const waiting = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const [first] of (rules.get(next) ?? []).filter(({ length }) => length > 0)) {
      if (!("rule" in first) || found.has(first.rule)) continue;
      found.add(first.rule);
      waiting.push(first.rule);
    }
  }
  return found;
}
