// A fault in one record, before its place in the request is known.

export interface ContentFault {
  /** Path within the record in the spelling of the interface, such as `payload`, `note`. */
  readonly path: readonly string[];
  readonly message: string;
  /** Machine-readable kind, as in domain's Fault. */
  readonly type: string;
}

/** A fault at a path of the record. */
export function fault(path: readonly string[], message: string, type = "value_error"): ContentFault {
  return { path, message, type };
}

/** A field that must be there is not. */
export function missing(path: readonly string[], message = "Field required"): ContentFault {
  return { path, message, type: "missing" };
}

const quotedLengthMax = 100;

/** A value as messages show it: quoted, and cut where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(text.length <= quotedLengthMax ? text : `${text.slice(0, quotedLengthMax)}…`);
}
