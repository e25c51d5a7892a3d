// The one error of this client: what the server answered instead of success, or that nobody did.

/** One thing that was wrong with a request. */
export interface Fault {
  /** Where it was sent: body, path, query or header, then names and indices. */
  readonly loc: readonly string[];
  /** What was wrong, the value, the limit, the cure. */
  readonly msg: string;
  readonly type: string;
}

interface HoneErrorOptions {
  readonly message: string;
  readonly status?: number;
  readonly code: string;
  readonly param?: string | null;
  readonly faults?: readonly Fault[];
  readonly requestId?: string | null;
  readonly retryAfterSeconds?: number | null;
  readonly body?: unknown;
  readonly cause?: unknown;
}

/** Why a call did not succeed, in the server's own words where it answered. */
export class HoneError extends Error {
  /** Of the answer; 0 where nobody answered. */
  readonly status: number;
  /**
   * The server's, such as `invalid`, `unauthorized`, `not_found`, `overloaded`; or of this side `connection`, `timeout`,
   * `not_json`, `job_failed`, `invalid`.
   */
  readonly code: string;
  /** The first field at fault, as a dotted name. */
  readonly param: string | null;
  /** Everything that was wrong. */
  readonly faults: readonly Fault[];
  /** Under which the server's log has more. */
  readonly requestId: string | null;
  /** When trying again may help; null where nobody said. */
  readonly retryAfterSeconds: number | null;
  /** The whole answer, parsed where it is JSON. */
  readonly body: unknown;

  constructor(options: HoneErrorOptions) {
    super(options.message, options.cause === undefined ? {} : { cause: options.cause });
    this.name = "HoneError";
    this.status = options.status ?? 0;
    this.code = options.code;
    this.param = options.param ?? null;
    this.faults = options.faults ?? [];
    this.requestId = options.requestId ?? null;
    this.retryAfterSeconds = options.retryAfterSeconds ?? null;
    this.body = options.body ?? null;
  }
}

/** Reads an answer that is none of success, its text being this one. */
export function answeredError({ status, statusText, headers }: Response, text: string): HoneError {
  const body = parsed(text);
  const { error, detail }: Partial<ErrorBody> = body ?? {};
  const retryAfter = headers.get("retry-after")?.trim() ?? "";
  return new HoneError({
    status,
    // Where somebody else answered, its text is the best message there is.
    message: `${status}: ${error?.message ?? (text.slice(0, 400) || statusText)}`,
    code: error?.code ?? "unknown",
    param: error?.param ?? null,
    faults: detail ?? [],
    requestId: headers.get("x-request-id"),
    // Whole seconds, as every server that answers for this one says them; a date is none.
    retryAfterSeconds: /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null,
    body: body ?? text,
  });
}

interface ErrorBody {
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null };
  readonly detail: readonly Fault[];
}

/** Null where it is no object. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** The error that an event of a stream is, after which there is none; null for any other event. */
export function streamedError(
  event: unknown,
  { status, headers }: Pick<Response, "status" | "headers">,
): HoneError | null {
  if (typeof event !== "object" || event === null || !("error" in event) || "type" in event) return null;
  // The body that errors have.
  const { error, detail } = event as ErrorBody;
  return new HoneError({
    ...error,
    status,
    faults: detail,
    requestId: headers.get("x-request-id"),
    body: event,
  });
}
