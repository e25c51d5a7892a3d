// Constraints on an answer, as data: an engine compiles them, in this process or on another machine. Nothing here
// parses a grammar or schema; the compiling engine decides if it can enforce one.

/**
 * Constraint on the whole text of an answer. JSON in it is kept as text, because it crosses threads and processes and
 * its numbers must keep their digits.
 */
export type ConstraintRule =
  /** A JSON document that is valid under the schema, given as JSON, with properties in the schema's order. */
  | { readonly kind: "json-schema"; readonly schema: string }
  | { readonly kind: "json-object" }
  /** A regular expression, anchored at both ends. */
  | { readonly kind: "regex"; readonly pattern: string }
  /** One of these texts; at least one. */
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** A context-free grammar in one of the interface's notations. */
  | {
      readonly kind: "grammar";
      readonly text: string;
      /** True if the grammar's texts are inside a JSON string, without its quotes. */
      readonly isInJson?: boolean;
    }
  /** Free text with constrained parts between tags: the JSON of either form that the interface accepts. */
  | { readonly kind: "structural-tag"; readonly tag: string };

/** Notation of JSON; no effect on the other kinds. */
export interface ConstraintOptions {
  /** False for compact separators without whitespace. */
  readonly allowsAnyWhitespace: boolean;
  /** Regular expression for the whitespace between JSON tokens; null to follow `allowsAnyWhitespace`. */
  readonly whitespacePattern: string | null;
  /** False to forbid properties that the schema does not name, even if the schema allows them. */
  readonly allowsAdditionalProperties: boolean;
}

export type Constraint = ConstraintRule & ConstraintOptions;

/**
 * Why a constraint is refused: malformed, not enforceable exactly, too costly, unsatisfiable, or of a kind that the
 * model's engine lacks.
 */
export type RefusalKind = "malformed" | "not-exact" | "limit" | "unsatisfiable" | "not-offered";

/** Refused part of a constraint, and the reason. */
export interface Refusal {
  readonly kind: RefusalKind;
  /** Keyword, construct or limit at fault. */
  readonly subject: string;
  /** JSON pointer into a schema, or position in a text; empty if there is none. */
  readonly place: string;
  readonly message: string;
}

/** Result of checking a constraint and instances against it. */
export interface ConstraintCheck {
  /**
   * Null if the constraint is enforced exactly: it compiles, and the possible next tokens are known at the start and
   * along every instance.
   */
  readonly refusal: Refusal | null;
  /** One result per instance, in order; empty if no answer under the constraint can even begin. */
  readonly instances: readonly InstanceCheck[];
  /** Notices for the caller about an accepted constraint, one sentence each. */
  readonly notices: readonly string[];
  /** Time until the first token mask was known. */
  readonly compileMs: number;
}

export interface InstanceCheck {
  /** True if an answer under the constraint could be the instance. */
  readonly isAccepted: boolean;
  /** Limit that stopped the check, in which case the instance is not accepted; null if none was reached. */
  readonly limit: string | null;
  /** Prefix of the instance's text at which the limit was reached, for people; empty if none was reached. */
  readonly place: string;
}
