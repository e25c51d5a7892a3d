// The only error class of this client. Thrown if the server answers with an error, or does not answer.

/** A fault in a request. */
export interface Fault {
  /** Location of the fault: `body`, `path`, `query` or `header`, followed by names and indices. */
  readonly loc: readonly string[];
  /** Description of the fault, with the value, the limit and the remedy. */
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

/** A failed call. If the server answered, the message is the server's. */
export class HoneError extends Error {
  /** HTTP status; 0 if no server answered. */
  readonly status: number;
  /**
   * Error code. Codes from the server include `invalid`, `unauthorized`, `not_found` and `overloaded`; codes from this
   * client are `connection`, `timeout`, `not_json`, `job_failed` and `invalid`.
   */
  readonly code: string;
  /** Dotted name of the first invalid field; null if none is named. */
  readonly param: string | null;
  /** All faults that the server found. */
  readonly faults: readonly Fault[];
  /** Id of the request in the server's log; null if unknown. */
  readonly requestId: string | null;
  /** Time in seconds after which a retry may succeed; null if unknown. */
  readonly retryAfterSeconds: number | null;
  /** Body of the answer, parsed if it is a JSON object. */
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

/** Returns the error for an unsuccessful answer with this text. */
export function answeredError({ status, statusText, headers }: Response, text: string): HoneError {
  const body = parsed(text);
  const { error, detail }: Partial<ErrorBody> = body ?? {};
  const retryAfter = headers.get("retry-after")?.trim() ?? "";
  return new HoneError({
    status,
    // If the answer comes from another program, the text of the answer is the best available message.
    message: `${status}: ${error?.message ?? (text.slice(0, 400) || statusText)}`,
    code: error?.code ?? "unknown",
    param: error?.param ?? null,
    faults: detail ?? [],
    requestId: headers.get("x-request-id"),
    // Hone sends whole seconds; a date is ignored.
    retryAfterSeconds: /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) : null,
    body: body ?? text,
  });
}

interface ErrorBody {
  readonly error: { readonly message: string; readonly code: string; readonly param: string | null };
  readonly detail: readonly Fault[];
}

/** Returns the parsed JSON object; null if the text is anything else. */
function parsed(text: string): object | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" ? value : null;
  } catch {
    return null;
  }
}

/** Returns the error in an event that ends a stream; null for any other event. */
export function streamedError(
  event: unknown,
  { status, headers }: Pick<Response, "status" | "headers">,
): HoneError | null {
  if (typeof event !== "object" || event === null || !("error" in event) || "type" in event) return null;
  // Safe cast: an event with an error has an error's fields.
  const { error, detail } = event as ErrorBody;
  return new HoneError({
    ...error,
    status,
    faults: detail,
    requestId: headers.get("x-request-id"),
    body: event,
  });
}
