// Translates vLLM's refusals into Hone's errors. vLLM's messages reach callers only if they say what is wrong with a
// request. All other messages become causes for the log, because they may contain paths on vLLM's machine.
import { cut, ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";

/** An error response of vLLM. */
export class VllmRefusal extends Error {
  readonly status: number;
  /** True if the error occurred within a stream, after the answer had begun. */
  readonly isInStream: boolean;

  constructor(status: number, said: string, isInStream: boolean) {
    super(`vLLM answered ${status}: ${said}`);
    this.status = status;
    this.isInStream = isInStream;
  }
}

/** Returns the error for a refusal. `said` is the parsed body of the response; null if it is not JSON. */
export function refusalOf(
  status: number,
  said: unknown,
  {
    retryAfterSeconds = null,
    isInStream = false,
  }: { readonly retryAfterSeconds?: number | null; readonly isInStream?: boolean } = {},
): ServiceError {
  const text = messageIn(said);
  const cause = new VllmRefusal(status, cut(text, 2000), isInStream);
  const { code, message } = meaningOf(status, text);
  const again = code === "unavailable" || code === "overloaded" ? (retryAfterSeconds ?? 2) : undefined;
  return new ServiceError({ code, message, cause, ...(again !== undefined && { retryAfterSeconds: again }) });
}

/** Returns the error for an answer of vLLM in which something is missing. `what` names what was expected. */
export function malformedAnswer(what: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code: "unavailable",
    message: "The server that computes this model sent an invalid answer; try again later.",
    retryAfterSeconds: 2,
    cause: new Error(`vLLM's answer lacks ${what}`, { cause }),
  });
}

/** Parses JSON. Throws ServiceError `unavailable` for malformed text. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw malformedAnswer("JSON", cause);
  }
}

/** Returns the error for a refusal within a stream, with the status that the refusal names. */
export function refusalInStream(error: unknown): ServiceError {
  const code = error !== null && typeof error === "object" && "code" in error ? error.code : 500;
  return refusalOf(typeof code === "number" ? code : 500, { error }, { isInStream: true });
}

function meaningOf(status: number, text: string): { readonly code: ErrorCode; readonly message: string } {
  if (status === 400 || status === 422)
    return text.includes("has already been loaded")
      ? { code: "conflict", message: "The adapter is loaded already." }
      : {
          code: "unsupported",
          message: `The server that computes this model refuses the request: ${cut(text)}`,
        };
  if (status === 404)
    return { code: "not_found", message: "The server has no such model, adapter or route." };
  if (status === 401 || status === 403)
    return {
      code: "unavailable",
      message: "The server that computes this model does not accept this server's key.",
    };
  if (status === 429)
    return {
      code: "overloaded",
      message: "The server that computes this model is overloaded; try again.",
    };
  return { code: "unavailable", message: "The server that computes this model failed; try again later." };
}

/** Returns the message of `{"error": {"message"}}`, `{"error": "..."}` or `{"detail": "..."}`. */
function messageIn(said: unknown): string {
  if (typeof said === "string") return said;
  if (said === null || typeof said !== "object") return "nothing";
  const error = "error" in said ? said.error : "detail" in said ? said.detail : "";
  if (typeof error === "string") return error;
  const inner = error !== null && typeof error === "object" && "message" in error ? error.message : "";
  return typeof inner === "string" ? inner : "";
}
