// A regular expression as a tree over sets of characters, before it is spelled in bytes.
import type { CodePoints } from "./characters/code-points.ts";

export type Pattern =
  | { readonly kind: "character"; readonly set: CodePoints }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Pattern[] }
  | { readonly kind: "repeat"; readonly part: Pattern; readonly min: number; readonly max: number }
  /** The end of the whole text. */
  | { readonly kind: "end" }
  /** What follows must match, or must not. */
  | { readonly kind: "look"; readonly part: Pattern; readonly isNegative: boolean }
  /** The character before must be of the set; or there must be none, where the start will do too. */
  | { readonly kind: "behind"; readonly set: CodePoints; readonly orStart: boolean };

/** The start of the whole text. */
export const textStart: Pattern = { kind: "behind", set: [], orStart: true };

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

/** The sets that characters before a place are asked for, anywhere in the pattern. */
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
