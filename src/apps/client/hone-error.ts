// The only error of this client: an unsuccessful answer, or none.

/** One fault of a request. */
export interface Fault {
  /** Location of the fault: body, path, query or header, then names and indices. */
  readonly loc: readonly string[];
  /** Description of the fault: the value, the limit, the remedy. */
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

/** A call without success; has the server's message if it answered. */
export class HoneError extends Error {
  /** HTTP status; 0 without an answer. */
  readonly status: number;
  /**
   * Error code of the server, such as `invalid`, `unauthorized`, `not_found`, `overloaded`; or of this client:
   * `connection`, `timeout`, `not_json`, `job_failed`, `invalid`.
   */
  readonly code: string;
  /** The first field at fault, as a dotted name. */
  readonly param: string | null;
  /** All faults. */
  readonly faults: readonly Fault[];
  /** Request id to find in the server's log. */
  readonly requestId: string | null;
  /** Time after which a retry may help, in seconds; null if unknown. */
  readonly retryAfterSeconds: number | null;
  /** The whole answer, parsed if it is JSON. */
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

/** Creates the error for an unsuccessful answer with this text. */
export function answeredError({ status, statusText, headers }: Response, text: string): HoneError {
  const body = parsed(text);
  const { error, detail }: Partial<ErrorBody> = body ?? {};
  const retryAfter = headers.get("retry-after")?.trim() ?? "";
  return new HoneError({
    status,
    // For a foreign server, its text is the best message available.
    message: `${status}: ${error?.message ?? (text.slice(0, 400) || statusText)}`,
    code: error?.code ?? "unknown",
    param: error?.param ?? null,
    faults: detail ?? [],
    requestId: headers.get("x-request-id"),
    // Whole seconds, as Hone sends them; dates are ignored.
    retryAfterSeconds: /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null,
    body: body ?? text,
  });
}

interface ErrorBody {
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null };
  readonly detail: readonly Fault[];
}

/** Parses a JSON object; null for anything else. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** Returns the error in a stream's event, which ends the stream; null for any other event. */
export function streamedError(
  event: unknown,
  { status, headers }: Pick<Response, "status" | "headers">,
): HoneError | null {
  if (typeof event !== "object" || event === null || !("error" in event) || "type" in event) return null;
  // Safe cast: the body of an error.
  const { error, detail } = event as ErrorBody;
  return new HoneError({
    ...error,
    status,
    faults: detail,
    requestId: headers.get("x-request-id"),
    body: event,
  });
}
