// What a structural tag asks for, as a tree: free text, fixed text, constrained content, and how they follow each other.
// What read-tags.ts makes of JSON, and what compile-tags.ts takes.
import type { ConstraintRule } from "../../../../base/domain/constraint.ts";

export type Format =
  | { readonly kind: "text"; readonly text: string }
  /** What another constraint allows; it stands at `place`. */
  | { readonly kind: "constrained"; readonly rule: ConstraintRule; readonly place: string }
  /** Any text that by itself holds none of `excludes`, nor an end of the tag around it; what stands beside it may. */
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
  /** Any of these ends it; at least one, which may be empty. */
  readonly ends: readonly string[];
}

/** Free text in which each trigger begins one of its tags. */
export interface TriggeredTags {
  readonly kind: "triggered";
  readonly branches: readonly { readonly trigger: string; readonly tags: readonly Tag[] }[];
  readonly excludes: readonly string[];
  /** The text begins with a tag. */
  readonly needsOne: boolean;
  /** Nothing follows the first tag. */
  readonly stopsAfterFirst: boolean;
}

/** Free text in which each trigger is followed by its format. */
export interface Dispatch {
  readonly kind: "dispatch";
  readonly branches: readonly { readonly trigger: string; readonly format: Format }[];
  readonly excludes: readonly string[];
  readonly stopsAfterFirst: boolean;
}

/** Tags and nothing else but what separates them. */
export interface SeparatedTags {
  readonly kind: "separated";
  readonly tags: readonly Tag[];
  readonly separator: string;
  readonly needsOne: boolean;
  readonly stopsAfterFirst: boolean;
}
