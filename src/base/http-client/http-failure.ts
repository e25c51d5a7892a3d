// Errors of outgoing HTTP requests. Their messages hold no addresses, since some readers may not know them; the cause
// has them.

/** The phases of a request, in order. */
export type Phase = "connection" | "head" | "first-part" | "next-part";

/** A request without a whole answer: the server could not be reached, or the connection broke. */
export class HttpFailure extends Error {
  /** True if the server may have begun to work on the request. */
  readonly wasSent: boolean;
  /** The code of the system or of the library, such as `ECONNREFUSED`; empty if there is none. */
  readonly code: string;

  constructor(message: string, { wasSent, cause }: { readonly wasSent: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.wasSent = wasSent;
    this.code = codeOf(cause);
  }
}

/** A phase that timed out. */
export class HttpTimeout extends HttpFailure {
  readonly phase: Phase;
  readonly durationMs: number;

  constructor(phase: Phase, durationMs: number) {
    super(`nothing came within ${durationMs / 1000} s`, { wasSent: phase !== "connection" });
    this.phase = phase;
    this.durationMs = durationMs;
  }
}

/** An answer, or a part of it, above the caller's limit. */
export class AnswerTooLarge extends Error {}

/** Returns the failure for an error of a socket or of the library. */
export function failureOf(cause: unknown, wasSent: boolean): HttpFailure {
  return new HttpFailure(messageOf(cause), { wasSent, cause });
}

/** Returns the code of an error if it has one, else its message. */
export function describeFailure(error: unknown): string {
  return codeOf(error) || (error instanceof Error ? error.message : String(error));
}

function messageOf(cause: unknown): string {
  const code = codeOf(cause);
  if (!(cause instanceof Error)) return String(cause);
  // The message of a system error contains the address.
  if ("syscall" in cause && typeof cause.syscall === "string") return `${cause.syscall} ${code}`;
  // Texts of Node's own client, which operators know.
  if (code === "UND_ERR_SOCKET") return "socket hang up";
  return cause.message.replace(/^Response does not match .* \((.*)\)$/, "Parse Error: $1") || code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
