// The error that operating code throws on purpose, and its codes. A code says what is wrong; only `api/http` knows
// status numbers.

/** Kinds of errors, independent of the transport. */
export type ErrorCode =
  | "invalid" // wrong shape, type, range or combination
  | "unsupported" // well formed, but this model or server cannot do it
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "full" // the caller has reached a storage quota
  | "too_slow" // more work than one request may cause
  | "overloaded"
  | "unavailable" // starting, draining, or the engine is down
  | "cancelled"
  | "timeout"
  | "internal";

/**
 * A fault in a caller's input. `location` names a field as the domain does (`["stopping", "maxTokens"]`), or starts
 * with `body`, `path`, `query` or `header` if HTTP found it; list indices are decimal strings.
 */
export interface Fault {
  readonly location: readonly string[];
  readonly message: string;
  /** Machine-readable kind, such as `missing`, `int_type`, `value_error`. */
  readonly type: string;
}

/**
 * Condition of the machine that blocks work until it changes. Durable work that meets one waits and loses nothing, and
 * callers get its message.
 */
export type Obstacle =
  | "full-disk"
  | "busy-database"
  | "database-away"
  | "blobs-away"
  | "missing-base"
  | "unloaded-base"
  | "trainer-away"
  | "training-only"
  | "failing-audit-log";

export interface ServiceErrorOptions {
  readonly code: ErrorCode;
  /** For the caller: what is wrong, the value, the limit, the cure. Defaults to the texts of the faults. */
  readonly message?: string;
  /** Every fault found; empty if the message says it all. */
  readonly faults?: readonly Fault[];
  /** For `overloaded` and `unavailable`: seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number;
  /** For `unavailable`. */
  readonly obstacle?: Obstacle;
  readonly cause?: unknown;
}

/** An operating error whose message is meant for the caller; its cause goes only to the log. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly faults: readonly Fault[];
  readonly retryAfterSeconds: number | undefined;
  readonly obstacle: Obstacle | undefined;

  constructor(options: ServiceErrorOptions) {
    const { faults = [], message = faults.map((fault) => fault.message).join(" ") } = options;
    super(message, { cause: options.cause });
    this.name = "ServiceError";
    this.code = options.code;
    this.faults = faults;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.obstacle = options.obstacle;
  }
}

/** Returns the `not_found` error for a thing of the given kind. */
export function notFound(kind: string, id: string): ServiceError {
  return new ServiceError({ code: "not_found", message: `There is no ${kind} ${quoted(id)}.` });
}

/** Returns an `invalid` error. */
export function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}

/** Quotes a caller's text for a message and cuts it if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

const repeatedLengthMax = 200;

/** Returns the text, cut after `lengthMax` characters with a sign that it continues. */
export function cut(text: string, lengthMax = repeatedLengthMax): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
