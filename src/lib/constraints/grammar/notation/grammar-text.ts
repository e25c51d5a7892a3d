// Syntax tree of a grammar: rules by name, each a tree of characters, repetitions and references. The readers of GBNF
// and of Lark's notation produce it, and compile-grammar.ts consumes it.
import type { ExactJson } from "../../../../base/domain/text/exact-json.ts";
import type { CodePoints } from "../../regex/characters/code-points.ts";
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
  /** Texts that match all parts. This node and the next two kinds are regular. */
  | { readonly kind: "all"; readonly parts: readonly GrammarNode[] }
  /** Texts that do not match the part. */
  | { readonly kind: "other"; readonly part: GrammarNode }
  /** Texts that concatenate any run of consecutive chunks; the run may be empty. */
  | { readonly kind: "substring"; readonly chunks: readonly string[] }
  /** JSON texts of a schema's values. */
  | { readonly kind: "schema"; readonly schema: ExactJson; readonly position: number }
  | { readonly kind: "rule"; readonly name: string; readonly position: number };

export interface GrammarText {
  readonly rules: ReadonlyMap<string, GrammarNode>;
  /** Name of the start rule. */
  readonly root: string;
}

/** Returns a node that matches exactly this text. */
export function literalNode(text: string): GrammarNode {
  const parts = Array.from(text, (character): GrammarNode => {
    const point = character.codePointAt(0) ?? 0;
    return { kind: "character", set: [point, point] };
  });
  return { kind: "sequence", parts };
}

/** Returns the text of a node that is a character or a sequence of characters; null for any other node. */
export function literalText(node: GrammarNode): string | null {
  if (node.kind === "character") {
    const [first, last, ...more] = node.set;
    return first === last && more.length === 0 ? String.fromCodePoint(first) : null;
  }
  if (node.kind !== "sequence") return null;
  const texts = node.parts.map(literalText);
  return texts.includes(null) ? null : texts.join("");
}

/** True if the node, or a descendant, passes the test. */
export function hasNode(node: GrammarNode, test: (node: GrammarNode) => boolean): boolean {
  if (test(node)) return true;
  if ("part" in node) return hasNode(node.part, test);
  return "parts" in node && node.parts.some((part) => hasNode(part, test));
}
