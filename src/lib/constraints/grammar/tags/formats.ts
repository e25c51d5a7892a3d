// Syntax tree of a structural tag: free text, fixed text, constrained content, and sequences of these. read-tags.ts
// builds it from JSON, and compile-tags.ts compiles it.
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";

export type Format =
  | { readonly kind: "text"; readonly text: string }
  /** Content that must satisfy another constraint; `place` is the location of that constraint in the structural tag. */
  | { readonly kind: "constrained"; readonly rule: ConstraintRule; readonly place: string }
  /**
   * Free text that contains neither a text of `excludes` nor an end of the enclosing tag. Such a text may still arise
   * where the free text meets adjacent text.
   */
  | { readonly kind: "free"; readonly excludes: readonly string[] }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Format[] }
  /** `max` is infinite if there is no maximum. */
  | { readonly kind: "repeat"; readonly part: Format; readonly min: number; readonly max: number }
  | Tag
  | TriggeredTags
  | Dispatch
  | SeparatedTags;

export interface Tag {
  readonly kind: "tag";
  readonly begin: string;
  readonly content: Format;
  /** Texts that each end the tag. There is at least one, and one may be empty. */
  readonly ends: readonly string[];
}

/** Free text with tags. A trigger in the text must begin one of the trigger's tags. */
export interface TriggeredTags {
  readonly kind: "triggered";
  readonly branches: readonly { readonly trigger: string; readonly tags: readonly Tag[] }[];
  readonly excludes: readonly string[];
  /** True if the text must begin with a tag. */
  readonly needsOne: boolean;
  /** True if nothing follows the first tag. */
  readonly stopsAfterFirst: boolean;
}

/** Free text with formats. A trigger in the text must be followed by the trigger's format. */
export interface Dispatch {
  readonly kind: "dispatch";
  readonly branches: readonly { readonly trigger: string; readonly format: Format }[];
  readonly excludes: readonly string[];
  readonly stopsAfterFirst: boolean;
}

/** Tags with separators between them, and no free text. */
export interface SeparatedTags {
  readonly kind: "separated";
  readonly tags: readonly Tag[];
  readonly separator: string;
  readonly needsOne: boolean;
  readonly stopsAfterFirst: boolean;
}
