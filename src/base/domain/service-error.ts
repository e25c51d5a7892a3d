// The one error that operating code throws on purpose, and the codes it may carry.
// Status numbers live in http/ alone; a code says what went wrong, not how it is sent.

/** What went wrong, in words that hold for every transport. */
export type ErrorCode =
  | "invalid" // the shape, type, range or combination of what was sent is wrong
  | "unsupported" // well formed, but this model or server cannot do it
  | "unauthorized"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "too_large"
  | "full" // what is stored of the caller is as much as may be
  | "too_slow" // it asks for more work than one request may
  | "overloaded"
  | "unavailable" // starting, draining, or the engine is down
  | "cancelled"
  | "timeout"
  | "internal";

/**
 * One fault in what a caller sent. `location` names a field as the domain does (`["stopping", "maxTokens"]`), or starts with
 * `body`, `path`, `query` or `header` where HTTP found it; list indices are decimal strings.
 */
export interface Fault {
  readonly location: readonly string[];
  readonly message: string;
  /** Machine-readable kind, such as `missing`, `int_type`, `value_error`. */
  readonly type: string;
}

/**
 * What of the machine keeps the server from working until it changes. Durable work that meets one waits and loses
 * nothing by it, and callers get its message.
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
  /** For the caller: what was wrong, the value, the limit, the cure. What the faults say, unless given. */
  readonly message?: string;
  /** Every fault found; empty where the message alone says it. */
  readonly faults?: readonly Fault[];
  /** For `overloaded` and `unavailable`: when trying again may help. */
  readonly retryAfterSeconds?: number;
  /** For `unavailable`. */
  readonly obstacle?: Obstacle;
  readonly cause?: unknown;
}

/** An operating error whose message is meant for the caller; its cause goes to the log only. */
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

/** Builds the `not_found` error for a thing of the given kind. */
export function notFound(kind: string, id: string): ServiceError {
  return new ServiceError({ code: "not_found", message: `There is no ${kind} ${quoted(id)}.` });
}

/** Builds an `invalid` error. */
export function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}

/** A caller's own text as messages repeat it: in quotation marks, and cut where it is long. */
export function quoted(text: string): string {
  return JSON.stringify(cut(text));
}

const repeatedLengthMax = 200;

/** A text of at most 200 characters: itself, or its beginning and a sign that it goes on. */
export function cut(text: string, lengthMax = repeatedLengthMax): string {
  return text.length <= lengthMax ? text : `${text.slice(0, lengthMax - 1)}…`;
}
