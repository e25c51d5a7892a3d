// What servers say where they refuse, in the forms that they have for it, as errors of ours. Pure.
import { cut, ServiceError } from "../../../../base/domain/service-error.ts";

/** An answer that was read whole. */
export interface Reply {
  readonly status: number;
  /** Without parameters, in lowercase. */
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Where the body is instead; null for most. */
  readonly location: string | null;
  /** How long the server asks to wait; null where it does not. */
  readonly retryAfterSeconds: number | null;
}

/** The JSON of an answer. @throws ServiceError `unavailable` where there is none */
export function jsonOf({ body, status }: Reply, what: string): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString());
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return value as Readonly<Record<string, unknown>>;
  } catch {
    // Told below.
  }
  throw garbled(what, `status ${status}, and no JSON object: ${JSON.stringify(cut(textOf(body)))}`);
}

/** The error for an answer that makes no sense. */
export function garbled(what: string, found: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: `The trainer answered ${what} with ${found}.`,
    cause,
  });
}

/** What a refusal says: `detail` of FastAPI, a text or a list of faults; `error`, `error_message`; else its text. */
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

/** Whether a refusal may be none the next time. */
export function isPassing({ status }: Pick<Reply, "status">): boolean {
  return status === 408 || status === 429 || status >= 500;
}

/** What a server says of models that it had and has no more, as one does that was started again. */
const lostPattern =
  /not loaded|stale request|model .*not found|session not found|future not found|model not found/i;
/** What it says where there is no room for one more. */
const fullPattern = /maximum number of lora|no free (?:adapter|slot)/i;

/**
 * The error for an answer that refuses.
 *
 * @param what was asked, as in "answered … with"
 */
export function refusalOf(reply: Reply, what: string): ServiceError {
  const { status } = reply;
  const reason = reasonOf(reply);
  if (status === 401 || status === 403)
    return away(`The trainer does not let this server in (${reason}); set HONE_TRAINER_KEY.`);
  if (status === 402) return away(`The trainer asks for payment (${reason}).`);
  if (fullPattern.test(reason)) return away(`The trainer has no room for another model (${reason}).`);
  if (isPassing(reply) || isGone(reply) || lostPattern.test(reason))
    return new ServiceError({ code: "unavailable", message: `The trainer refused ${what}: ${reason}.` });
  return new ServiceError({ code: "unsupported", message: `The trainer refused ${what}: ${reason}.` });
}

/** Whether what was asked for is not there, or not any more. */
export function isGone({ status }: Pick<Reply, "status">): boolean {
  return status === 404 || status === 410;
}

/** A job that meets this waits until it is gone. */
export function away(message: string, cause?: unknown): ServiceError {
  return new ServiceError({ code: "unavailable", obstacle: "trainer-away", message, cause });
}

function textOf(body: Uint8Array): string {
  return Buffer.from(body.subarray(0, 4096)).toString();
}
