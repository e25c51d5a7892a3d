// A constraint as vLLM's `structured_outputs`: exactly one kind, of the kinds that the engine offers.
import type { Constraint } from "../../../base/domain/constraint.ts";
import { unreachable } from "../../../base/domain/assert.ts";

/** As vLLM spells it. */
export type StructuredOutputs =
  | { readonly json: string }
  | { readonly json_object: true }
  | { readonly regex: string }
  | { readonly choice: readonly string[] }
  | { readonly grammar: string }
  | { readonly structural_tag: string };

/** How JSON is written cannot be said: vLLM takes those fields and does nothing with them, so its features lack them. */
export function structuredOutputs(constraint: Constraint): StructuredOutputs {
  switch (constraint.kind) {
    case "json-schema":
      return { json: constraint.schema };
    case "json-object":
      return { json_object: true };
    case "regex":
      return { regex: constraint.pattern };
    case "choice":
      return { choice: constraint.choices };
    case "grammar":
      return { grammar: constraint.text };
    case "structural-tag":
      return { structural_tag: constraint.tag };
    default:
      return unreachable(constraint);
  }
}
