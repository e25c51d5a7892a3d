// What an answer must look like, as data: an engine compiles it, in this process or on another machine. Nothing here
// reads a grammar or a schema; the engine that compiles one says whether it can be served.

/**
 * What the answer's text must match, from its first character to its last. JSON in it is a text, since it crosses threads
 * and processes, and its numbers must keep their digits.
 */
export type ConstraintRule =
  /** A JSON document that is valid under the schema, whose JSON this is, its properties in the schema's order. */
  | { readonly kind: "json-schema"; readonly schema: string }
  | { readonly kind: "json-object" }
  /** A regular expression, anchored at both ends. */
  | { readonly kind: "regex"; readonly pattern: string }
  /** One of these texts; at least one. */
  | { readonly kind: "choice"; readonly choices: readonly string[] }
  /** A context-free grammar in the notation that the interface takes. */
  | {
      readonly kind: "grammar";
      readonly text: string;
      /** Whether its texts stand within a JSON string, as what is between the quotation marks. */
      readonly isInJson?: boolean;
    }
  /** Free text with constrained parts between tags: the JSON of either of the forms that the interface takes. */
  | { readonly kind: "structural-tag"; readonly tag: string };

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

/**
 * Why a constraint is not served: it is malformed, it asks for what is not expressed exactly, it costs too much, nothing
 * satisfies it, or the model's engine has nothing of its kind.
 */
export type RefusalKind = "malformed" | "not-exact" | "limit" | "unsatisfiable" | "not-offered";

/** What of a constraint is refused, and why. */
export interface Refusal {
  readonly kind: RefusalKind;
  /** The keyword, construct or limit that is to blame. */
  readonly subject: string;
  /** A JSON pointer into a schema, or a position in a text; empty where there is none. */
  readonly place: string;
  readonly message: string;
}

/** Whether a constraint is served, and what of the instances it was checked with an answer could be. */
export interface ConstraintCheck {
  /** Null where it is served exactly: it is read, and so are the tokens that may come first, and next along every instance. */
  readonly refusal: Refusal | null;
  /** One for each instance, in order; none where no answer under the constraint can even begin. */
  readonly instances: readonly InstanceCheck[];
  /** Notices for the caller about one that is served, a sentence each. */
  readonly notices: readonly string[];
  /** How long it took to find out whether it can begin. */
  readonly compileMs: number;
}

export interface InstanceCheck {
  /** Whether an answer under the constraint could say the instance. */
  readonly isAccepted: boolean;
  /** The limit at which checking it was given up; it is then not accepted. Null where there was none. */
  readonly limit: string | null;
  /** How much of the instance's text stood there by then, for people; empty where no limit was reached along it. */
  readonly place: string;
}
