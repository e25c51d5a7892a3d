// Constraints on an answer, as data. This module parses no grammar or schema. An engine, in this process or on another
// machine, compiles a constraint and decides whether it can enforce it.

/**
 * Rule that the complete text of an answer must obey. JSON in a rule is stored as text: constraints are sent between
 * threads and processes, and parsing could change the digits of numbers.
 */
export type ConstraintRule =
  /**
   * The answer is a JSON document that is valid under the schema. `schema` is JSON text. Properties appear in the
   * schema's order.
   */
  | { readonly kind: "json-schema"; readonly schema: string }
  | { readonly kind: "json-object" }
  /** The answer matches a regular expression as a whole. */
  | { readonly kind: "regex"; readonly pattern: string }
  /** The answer is one of these texts; there is at least one. */
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** The answer matches a context-free grammar. `text` is the grammar in one of the notations that the API accepts. */
  | {
      readonly kind: "grammar";
      readonly text: string;
      /** True if the grammar describes the content of a JSON string, without its quotes. */
      readonly isInJson?: boolean;
    }
  /**
   * The answer is free text that contains constrained parts between tags. `tag` is JSON text in either of the two forms
   * that the API accepts.
   */
  | { readonly kind: "structural-tag"; readonly tag: string };

/** Options for the way in which JSON is written. They have no effect on other kinds of constraint. */
export interface ConstraintOptions {
  /** True to allow any whitespace between JSON tokens; false for compact separators. */
  readonly allowsAnyWhitespace: boolean;
  /** Regular expression for the whitespace between JSON tokens; null if `allowsAnyWhitespace` decides. */
  readonly whitespacePattern: string | null;
  /** True to allow properties that the schema does not define. False forbids them, even if the schema allows them. */
  readonly allowsAdditionalProperties: boolean;
}

export type Constraint = ConstraintRule & ConstraintOptions;

/**
 * Reason for refusing a constraint: it is malformed, cannot be enforced exactly, costs too much, cannot be satisfied,
 * or is of a kind that the model's engine lacks.
 */
export type RefusalKind = "malformed" | "not-exact" | "limit" | "unsatisfiable" | "not-offered";

/** A part of a constraint that is refused, with the reason. */
export interface Refusal {
  readonly kind: RefusalKind;
  /** Keyword or construct that is refused, or name of the exceeded limit. */
  readonly subject: string;
  /** JSON pointer into a schema, or position in a text; empty if not applicable. */
  readonly place: string;
  readonly message: string;
}

/** Result of checking a constraint, and of checking instances (JSON values or texts) against it. */
export interface ConstraintCheck {
  /**
   * Refusal of the constraint; null if the server can enforce it exactly. In that case, the constraint compiles, and
   * the allowed next tokens are known at the start and after every prefix of each instance.
   */
  readonly refusal: Refusal | null;
  /** One result for each instance, in order. Empty if the constraint allows no first token of an answer. */
  readonly instances: readonly InstanceCheck[];
  /** Notices for the caller about an accepted constraint, one sentence each. */
  readonly notices: readonly string[];
  /** Time in milliseconds from the start of compilation to the first token mask. */
  readonly compileMs: number;
}

export interface InstanceCheck {
  /** True if the instance is a possible answer under the constraint. */
  readonly isAccepted: boolean;
  /** Name of the limit that the check exceeded, so that its result is unknown; null if it exceeded no limit. */
  readonly limit: string | null;
  /** Prefix of the instance's text at which a limit was reached, for display; empty if no limit was reached. */
  readonly place: string;
}
