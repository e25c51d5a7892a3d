// The syntax tree of a structural tag: free text, fixed text, constrained content, and their sequences. read-tags.ts
// makes it from JSON, and compile-tags.ts compiles it.
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";

export type Format =
  | { readonly kind: "text"; readonly text: string }
  /** Content under another constraint, at `place`. */
  | { readonly kind: "constrained"; readonly rule: ConstraintRule; readonly place: string }
  /** Free text without any of `excludes` and without an end of the enclosing tag; adjacent texts may complete one. */
  | { readonly kind: "free"; readonly excludes: readonly string[] }
  | { readonly kind: "sequence" | "choice"; readonly parts: readonly Format[] }
  /** `max` may be infinite. */
  | { readonly kind: "repeat"; readonly part: Format; readonly min: number; readonly max: number }
  | Tag
  | TriggeredTags
  | Dispatch
  | SeparatedTags;

export interface Tag {
  readonly kind: "tag";
  readonly begin: string;
  readonly content: Format;
  /** At least one; any of these ends the tag, and one may be empty. */
  readonly ends: readonly string[];
}

/** Free text in which each trigger begins one of its tags. */
export interface TriggeredTags {
  readonly kind: "triggered";
  readonly branches: readonly { readonly trigger: string; readonly tags: readonly Tag[] }[];
  readonly excludes: readonly string[];
  /** True if the text must begin with a tag. */
  readonly needsOne: boolean;
  /** True if nothing follows the first tag. */
  readonly stopsAfterFirst: boolean;
}

/** Free text in which each trigger is followed by its format. */
export interface Dispatch {
  readonly kind: "dispatch";
  readonly branches: readonly { readonly trigger: string; readonly format: Format }[];
  readonly excludes: readonly string[];
  readonly stopsAfterFirst: boolean;
}

/** Only tags and their separators. */
export interface SeparatedTags {
  readonly kind: "separated";
  readonly tags: readonly Tag[];
  readonly separator: string;
  readonly needsOne: boolean;
  readonly stopsAfterFirst: boolean;
}
