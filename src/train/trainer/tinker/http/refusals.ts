// Converts the error formats of Tinker servers to service errors. Pure functions.
import { cut, ServiceError } from "../../../../base/domain/service-error.ts";

/** A server's answer, read into memory. */
export interface Reply {
  readonly status: number;
  /** Media type of the body in lowercase, without parameters. */
  readonly contentType: string;
  readonly body: Uint8Array;
  /** URL to which the answer redirects; null if it does not redirect. */
  readonly location: string | null;
  /** Delay in seconds that the server requests before a retry; null if it requests none. */
  readonly retryAfterSeconds: number | null;
}

/**
 * Parses the body of an answer.
 *
 * @throws ServiceError `unavailable` if the body is not a JSON object
 */
export function jsonOf({ body, status }: Reply, what: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {
    // Ignores the parser's error, because the code below throws one with a better message.
  }
  throw garbled(what, `status ${status}, and no JSON object: ${JSON.stringify(cut(textOf(body)))}`);
}

/** Returns the error for an answer that Hone cannot interpret. */
export function garbled(what: string, found: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The trainer answered ${what} with ${found}.`,
    cause,
  });
}

/**
 * Returns the reason that a refusal states: FastAPI's `detail`, otherwise `error`, `error_message` or the whole text.
 */
export function reasonOf({ body, status }: Reply): string {
  const text = textOf(body);
  let said: unknown;
  try {
    said = JSON.parse(text);
  } catch {
    return text === "" ? `status ${status}` : cut(text);
  }
  const { detail, error, error_message: message } = (said ?? {}) as Record<string, unknown>;
  const reason = detail ?? error ?? message ?? said;
  return cut(typeof reason === "string" ? reason : JSON.stringify(reason));
}

/** True if the same request may succeed when it is retried. */
export function isTransient({ status }: Pick<Reply, "status">): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** Matches messages with which a restarted server refers to models that it has lost. */
const lostPattern =
  /not loaded|stale request|model .*not found|session not found|future not found|model not found/i;
/** Matches messages of a server that has no capacity for another model. */
const fullPattern = /maximum number of lora|no free (?:adapter|slot)/i;

/** Returns the error for an operation that the server refused. `what` names the operation, as in "refused …". */
export function refusalOf(reply: Reply, what: string): ServiceError {
  const { status } = reply;
  const reason = reasonOf(reply);
  if (status === 401 || status === 403)
    return trainerUnavailable(`The trainer denies this server access (${reason}); set HONE_TRAINER_KEY.`);
  if (status === 402) return trainerUnavailable(`The trainer asks for payment (${reason}).`);
  if (fullPattern.test(reason))
    return trainerUnavailable(`The trainer has no room for another model (${reason}).`);
  if (isTransient(reply) || isGone(reply) || lostPattern.test(reason))
    return new ServiceError({ code: "unavailable", message: `The trainer refused ${what}: ${reason}.` });
  return new ServiceError({ code: "unsupported", message: `The trainer refused ${what}: ${reason}.` });
}

/** True if the requested object does not exist, or was removed. */
export function isGone({ status }: Pick<Reply, "status">): boolean {
  return status === 404 || status === 410;
}

/** Returns an error that makes a job wait for the trainer instead of failing. */
export function trainerUnavailable(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "unavailable", obstacle: "trainer-away", message, cause });
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.subarray(0, 4096)).toString();
}
