// A regular expression as a tree over sets of characters, before it is spelled in bytes.
import type { CodePoints } from "./code-points.ts";

export type Pattern =
  | { readonly kind: "character"; readonly set: CodePoints }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number }
  /** The start of the whole text, or its end. */
  | { readonly kind: "start" | "end" }
  /** What follows must match, or must not. */
  | { readonly kind: "look"; readonly part: Pattern; readonly isNegative: boolean };

/** Whether the pattern asks for more than characters in a row. */
export function hasAssertion(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case "character":
      return false;
    case "sequence":
    case "choice":
      return pattern.parts.some(hasAssertion);
    case "repeat":
      return hasAssertion(pattern.part);
    default:
      return true;
  }
}

/** Whether `^` stands anywhere in it. */
export function hasStart(pattern: Pattern): boolean {
  switch (pattern.kind) {
    case "sequence":
    case "choice":
      return pattern.parts.some(hasStart);
    case "repeat":
    case "look":
      return hasStart(pattern.part);
    default:
      return pattern.kind === "start";
  }
}
