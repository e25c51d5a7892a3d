// A grammar as its author wrote it: rules by name, each a tree of characters, repetitions and references. What the readers
// of notations make, and what compile-grammar.ts takes.
import type { CodePoints } from "../../regex/code-points.ts";
import type { Pattern } from "../../regex/pattern.ts";

export type GrammarNode =
  | { readonly kind: "character"; readonly set: CodePoints }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly GrammarNode[] }
  | {
      readonly kind: "repeat";
      readonly part: GrammarNode;
      readonly min: number;
      readonly max: number;
    }
  | { readonly kind: "pattern"; readonly pattern: Pattern }
  | { readonly kind: "rule"; readonly name: string; readonly position: number };

export interface GrammarText {
  readonly rules: ReadonlyMap<string, GrammarNode>;
  /** The name of the rule that a whole text matches. */
  readonly root: string;
}

/** The characters of a text, in this order. */
export function literalNode(text: string): GrammarNode {
  const parts = Array.from(text, (character): GrammarNode => {
    const point = character.codePointAt(0) ?? 0;
    return { kind: "character", set: [point, point] };
  });
  return { kind: "sequence", parts };
}

/** The rules that a node names. */
export function referencesOf(
  node: GrammarNode,
): readonly { readonly name: string; readonly position: number }[] {
  switch (node.kind) {
    case "rule":
      return [node];
    case "repeat":
      return referencesOf(node.part);
    case "sequence":
    case "choice":
      return node.parts.flatMap(referencesOf);
    default:
      return [];
  }
}
