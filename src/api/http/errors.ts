// Maps each error to a status and the common body, with `detail` for clients that expect FastAPI's errors and `error`
// for OpenAI's. Only this module and `anthropic/dialect` map codes to statuses. Causes go to the log, and the caller
// gets only a request id.
import { cut, ServiceError, type ErrorCode, type Fault } from "../../base/domain/service-error.ts";
import { LimitRefusal } from "../../base/domain/keys/limits.ts";
import { firstFaults } from "../../base/validation/findings.ts";
import { rateHeaders } from "./limits/rate-headers.ts";

/**
 * Error that only the HTTP layer raises, such as for a wrong method or content type. It has its own status and headers.
 */
export class HttpRefusal extends ServiceError {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(options: {
    readonly status: number;
    readonly code: ErrorCode;
    readonly faults: readonly Fault[];
    readonly headers?: Readonly<Record<string, string>>;
  }) {
    super(options);
    this.status = options.status;
    this.headers = options.headers ?? {};
  }
}

/**
 * Returns the fields that a log line has about a failed request. A refusal that no other error caused has only its
 * message, since a stack trace would look like a fault of the program.
 */
export function failureFields(error: unknown, { status, answerFailure }: Omit<ErrorAnswer, "body">): object {
  const isRefusal = status !== 500 && error instanceof Error && isOnlyRefusal(error);
  return { status, answerFailure, ...(isRefusal ? { reason: error.message } : { err: error }) };
}

function isOnlyRefusal(error: unknown): boolean {
  return error instanceof ServiceError && (error.cause === undefined || isOnlyRefusal(error.cause));
}

interface CodeRule {
  readonly status: number;
  /** Value of the member `type` in the error body, for clients that expect OpenAI's errors. */
  readonly type: string;
  /** Location in the request that is reported for an error without a location of its own. */
  readonly location: readonly string[];
  /**
   * Default time in seconds after which clients may retry; an error may specify another. Absent if a retry cannot help.
   */
  readonly retryAfterSeconds?: number;
}

const rules: { readonly [Code in ErrorCode]: CodeRule } = {
  invalid: { status: 422, type: "invalid_request_error", location: ["body"] },
  unsupported: { status: 400, type: "invalid_request_error", location: ["body"] },
  unauthorized: { status: 401, type: "authentication_error", location: ["header", "authorization"] },
  forbidden: { status: 403, type: "permission_error", location: ["path"] },
  not_found: { status: 404, type: "not_found_error", location: ["path"] },
  conflict: { status: 409, type: "conflict_error", location: ["body"] },
  too_large: { status: 413, type: "invalid_request_error", location: ["body"] },
  too_slow: { status: 408, type: "invalid_request_error", location: ["body"] },
  overloaded: { status: 429, type: "rate_limit_error", location: [], retryAfterSeconds: 1 },
  // Status and type that OpenAI uses for an exceeded quota. Unlike an exceeded rate limit, an exceeded quota lasts
  // until someone acts.
  full: { status: 429, type: "insufficient_quota", location: ["body"], retryAfterSeconds: 30 },
  unavailable: { status: 503, type: "service_unavailable_error", location: [], retryAfterSeconds: 5 },
  cancelled: { status: 503, type: "service_unavailable_error", location: [], retryAfterSeconds: 1 },
  timeout: { status: 503, type: "service_unavailable_error", location: [], retryAfterSeconds: 5 },
  internal: { status: 500, type: "server_error", location: [] },
};

export interface ErrorBody {
  readonly detail: readonly {
    readonly loc: readonly string[];
    readonly msg: string;
    readonly type: string;
  }[];
  readonly error: {
    readonly message: string;
    readonly type: string;
    /** Dotted name of the first faulty field; null if the error names no field. */
    readonly param: string | null;
    readonly code: ErrorCode;
  };
  /** `type` and `request_id` are set only in answers to clients of Anthropic's API. */
  readonly type?: "error";
  readonly request_id?: string;
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
  /**
   * Error that occurred while the original error was converted to this answer, for the log; absent if there was none.
   */
  readonly answerFailure?: unknown;
}

/**
 * Returns the answer for any thrown value. A value that is not a ServiceError is a bug and gets the code `internal`, as
 * does an error that cannot be converted.
 *
 * @throws never
 */
export function errorAnswer(error: unknown, requestId: string): ErrorAnswer {
  try {
    return answerOf(error, requestId);
  } catch (answerFailure) {
    return { ...answerOf(undefined, requestId), answerFailure };
  }
}

function answerOf(error: unknown, requestId: string): ErrorAnswer {
  const known =
    error instanceof ServiceError ? error : new ServiceError({ code: "internal", message: "", cause: error });
  const rule = rules[known.code];
  const status = known instanceof HttpRefusal ? known.status : rule.status;
  const retryAfter = retryAfterOf(known, rule);
  const headers = {
    ...(known instanceof HttpRefusal ? known.headers : {}),
    ...(known instanceof LimitRefusal ? rateHeaders(known.standings) : {}),
    ...(retryAfter === null ? {} : { "retry-after": String(retryAfter) }),
  };
  const isShown = status < 500 || known.obstacle !== undefined;
  const text = isShown ? known.message : serverFault(known.code, retryAfter, requestId);
  const message = cut(text, textLengthMax);
  const faults = status >= 500 ? [] : firstFaults(faultsOf(known, rule)).map(shortened);
  const first = faults.find(({ type }) => type !== "json_invalid");
  const param = first?.location.slice(1).join(".") ?? "";
  return {
    status,
    headers,
    body: {
      detail: faults.map(({ location, message: msg, type }) => ({ loc: location, msg, type })),
      error: { message, type: rule.type, param: param === "" ? null : param, code: known.code },
    },
  };
}

/**
 * Maximum number of characters of one text in an error body. `placeLengthMax` limits the total length of a fault's
 * location.
 */
const textLengthMax = 2000;
const placeLengthMax = 1000;

/**
 * Shortens a fault. Its location can contain names that the client chose, so each part of the location is cut, and then
 * the whole location.
 */
function shortened({ location, message, type }: Fault): Fault {
  const parts: string[] = [];
  let length = 0;
  for (const part of location.map((name) => cut(name))) {
    length += part.length;
    if (length > placeLengthMax) {
      parts.push("…");
      break;
    }
    parts.push(part);
  }
  return { location: parts, message: cut(message, textLengthMax), type };
}

function retryAfterOf(error: ServiceError, rule: CodeRule): number | null {
  if (rule.retryAfterSeconds === undefined) return null;
  return Math.max(1, Math.ceil(error.retryAfterSeconds ?? rule.retryAfterSeconds));
}

function serverFault(code: ErrorCode, retryAfter: number | null, requestId: string): string {
  return `${describeServerFault(code, retryAfter)} Its log has more under the request id ${requestId}.`;
}

function describeServerFault(code: ErrorCode, retryAfter: number | null): string {
  switch (code) {
    case "internal":
      return "The server failed at this request.";
    case "cancelled":
      return "The request was cancelled by its client, or by the end of its connection.";
    case "timeout":
      return `The server did not finish this request in time. Try again in ${retryAfter} s.`;
    default:
      return `The server cannot take or finish this request now: it is starting, stopping, or its engine is down. Try again in ${retryAfter} s.`;
  }
}

function faultsOf(error: ServiceError, rule: CodeRule): readonly Fault[] {
  if (error.faults.length > 0) return error.faults;
  if (rule.location.length === 0) return [];
  return [{ location: rule.location, message: error.message, type: error.code }];
}
