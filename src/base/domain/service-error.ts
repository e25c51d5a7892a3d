// The error that Hone throws for expected failures, and its codes. A code names the kind of failure; only `api/http`
// maps codes to HTTP status numbers.

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
  | "too_slow" // the request needs more work than one request may cause
  | "overloaded"
  | "unavailable" // the server is starting or draining, or the engine is down
  | "cancelled"
  | "timeout"
  | "internal";

/**
 * A fault in a caller's input. `location` names a field with the domain's names (`["stopping", "maxTokens"]`), or
 * starts with `body`, `path`, `query` or `header` if the HTTP layer found the fault. List indices are decimal strings.
 */
export interface Fault {
  readonly location: readonly string[];
  readonly message: string;
  /** Machine-readable kind, such as `missing`, `int_type`, `value_error`. */
  readonly type: string;
}

/**
 * Condition of the machine that prevents work until it changes, such as a full disk. Jobs wait until the condition
 * changes and lose no data. Callers get the error's message.
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
  /**
   * Message for the caller: the problem, the value, the limit, and the remedy. Defaults to the messages of the faults.
   */
  readonly message?: string;
  /** All faults that were found; empty if the message is sufficient. */
  readonly faults?: readonly Fault[];
  /** For `overloaded` and `unavailable`: seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number;
  /** Condition that blocks the work; only for `unavailable`. */
  readonly obstacle?: Obstacle;
  readonly cause?: unknown;
}

/** An expected error with a message for the caller. Its cause is only written to the log. */
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

/** Quotes a caller's text for a message and truncates it if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

const repeatedLengthMax = 200;

/** Returns the text, truncated to `lengthMax` characters with an ellipsis at the end if it is longer. */
export function cut(text: string, lengthMax = repeatedLengthMax): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
