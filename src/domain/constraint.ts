// What an answer must look like, as data: an engine compiles it, in this process or on another machine. Nothing here
// reads a grammar or a schema; whether one can be served is said by whoever compiles it.
import type { Json } from "./trajectory.ts";

/** What the answer's text must match, from its first character to its last. */
export type ConstraintRule =
  /** A JSON document that is valid under the schema (an object or a boolean), its properties in the schema's order. */
  | { readonly kind: "json-schema"; readonly schema: Json }
  | { readonly kind: "json-object" }
  /** A regular expression, anchored at both ends. */
  | { readonly kind: "regex"; readonly pattern: string }
  /** One of these texts; at least one. */
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** A context-free grammar in the notation that the interface takes. */
  | { readonly kind: "grammar"; readonly text: string }
  /** Free text with constrained parts between tags. */
  | { readonly kind: "structural-tag"; readonly tag: Json };

/** How JSON is written; without effect on the other kinds. */
export interface ConstraintOptions {
  /** False: separators are compact, without blanks. */
  readonly allowsAnyWhitespace: boolean;
  /** A regular expression for the blanks between JSON tokens; null leaves them to `allowsAnyWhitespace`. */
  readonly whitespacePattern: string | null;
  /** False: an object has no properties beside those its schema names, whatever the schema says. */
  readonly allowsAdditionalProperties: boolean;
}

export type Constraint = ConstraintRule & ConstraintOptions;
