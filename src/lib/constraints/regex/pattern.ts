// The syntax tree of a regular expression over sets of characters, before characters are encoded as bytes.
import type { CodePoints } from "./characters/code-points.ts";

export type Pattern =
  | { readonly kind: "character"; readonly set: CodePoints }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number }
  /** The end of the whole text. */
  | { readonly kind: "end" }
  /** A look-ahead: the following text must match `part`, or must not match it if negative. */
  | { readonly kind: "look"; readonly part: Pattern; readonly isNegative: boolean }
  /** The previous character must be in the set; with `orStart`, the start of the text also matches. */
  | { readonly kind: "behind"; readonly set: CodePoints; readonly orStart: boolean };

/** The start of the whole text. */
export const textStart: Pattern = { kind: "behind", set: [], orStart: true };

/** True if the pattern contains an assertion. */
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

/** Returns the sets of all look-behinds in the pattern. */
export function setsBehind(pattern: Pattern): readonly CodePoints[] {
  switch (pattern.kind) {
    case "sequence":
    case "choice":
      return pattern.parts.flatMap(setsBehind);
    case "repeat":
    case "look":
      return setsBehind(pattern.part);
    default:
      return pattern.kind === "behind" ? [pattern.set] : [];
  }
}
