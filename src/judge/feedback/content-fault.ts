// A fault in one feedback record.

export interface ContentFault {
  /** Path of the faulty field within the record, with the API's field names, such as `payload`, `note`. */
  readonly path: readonly string[];
  readonly message: string;
  /** Machine-readable kind of fault, as in the domain's `Fault`. */
  readonly type: string;
}

/** Returns a fault at a path within the record. */
export function fault(path: readonly string[], message: string, type = "value_error"): ContentFault {
  return { path, message, type };
}

/** Returns the fault for a missing required field. */
export function missing(path: readonly string[], message = "Field required"): ContentFault {
  return { path, message, type: "missing" };
}

const quotedLengthMax = 100;

/** Quotes a value for an error message, and truncates a long one. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= quotedLengthMax ? text : `${text.slice(0, quotedLengthMax)}…`);
}
