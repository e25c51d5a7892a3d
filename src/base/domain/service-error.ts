// The error that Hone throws for expected failures, with its codes. A code stands for a kind of failure; only
// `api/http` maps codes to HTTP statuses.

/** Kinds of failures, independent of HTTP. */
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
 * A fault in a caller's input. `location` is the path of a field, in the domain's names, such as `["stopping",
 * "maxTokens"]`. If the HTTP layer found the fault, the path begins with `body`, `path`, `query` or `header`. Indices
 * of lists are decimal texts.
 */
export interface Fault {
  readonly location: readonly string[];
  readonly message: string;
  /** Kind of the fault for programs, such as `missing`, `int_type` or `value_error`. */
  readonly type: string;
}

/**
 * Condition of the machine that prevents work until it changes, such as a full disk. While it lasts, jobs wait and lose
 * no data, and callers get the error's message.
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
  /** All faults that were found; empty if the message says everything. */
  readonly faults?: readonly Fault[];
  /** Number of seconds after which a retry may succeed; only for `overloaded` and `unavailable`. */
  readonly retryAfterSeconds?: number;
  /** Condition of the machine that prevents the work; only for `unavailable`. */
  readonly obstacle?: Obstacle;
  readonly cause?: unknown;
}

/** An expected failure, with a message for the caller. Its cause only goes to the log. */
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

/**
 * Returns the `not_found` error for an object.
 *
 * @param kind kind of the object for the message, such as `model`
 */
export function notFound(kind: string, id: string): ServiceError {
  return new ServiceError({ code: "not_found", message: `There is no ${kind} ${quoted(id)}.` });
}

export function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}

/** Quotes a text of the caller for a message, and cuts it if it is long. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

const repeatedLengthMax = 200;

/**
 * Returns the text. If it has more than `lengthMax` characters, cuts it to that length, with an ellipsis at the end.
 */
export function cut(text: string, lengthMax = repeatedLengthMax): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
