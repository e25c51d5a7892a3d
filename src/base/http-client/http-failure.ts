// Errors of outgoing HTTP requests. Their messages contain no addresses, because some readers must not learn them; the
// cause has them.

/** Phases of a request, in order. */
export type Phase = "connection" | "head" | "first-part" | "next-part";

/** A request without a complete answer, because the server could not be reached or the connection broke. */
export class HttpFailure extends Error {
  /** True if the server may have begun to work on the request. */
  readonly wasSent: boolean;
  /** Error code of the operating system or of undici, such as `ECONNREFUSED`; empty if there is none. */
  readonly code: string;

  constructor(message: string, { wasSent, cause }: { readonly wasSent: boolean; readonly cause?: unknown }) {
    super(message, { cause });
    this.wasSent = wasSent;
    this.code = codeOf(cause);
  }
}

/** A request that failed because one of its phases took longer than its timeout. */
export class HttpTimeout extends HttpFailure {
  readonly phase: Phase;
  readonly durationMs: number;

  constructor(phase: Phase, durationMs: number) {
    super(`nothing came within ${durationMs / 1000} s`, { wasSent: phase !== "connection" });
    this.phase = phase;
    this.durationMs = durationMs;
  }
}

/** An answer, or a part of one, that is larger than the caller's limit. */
export class AnswerTooLarge extends Error {}

/** Returns the failure for an error of a socket or of undici. */
export function failureOf(cause: unknown, wasSent: boolean): HttpFailure {
  return new HttpFailure(messageOf(cause), { wasSent, cause });
}

/** Returns an error's code if it has one; otherwise its message. */
export function describeFailure(error: unknown): string {
  return codeOf(error) || (error instanceof Error ? error.message : String(error));
}

function messageOf(cause: unknown): string {
  const code = codeOf(cause);
  if (!(cause instanceof Error)) return String(cause);
  // The message of a system error contains an address, so only the system call and the code are used.
  if ("syscall" in cause && typeof cause.syscall === "string") return `${cause.syscall} ${code}`;
  // Operators know these two texts from the errors of Node's own HTTP client.
  if (code === "UND_ERR_SOCKET") return "socket hang up";
  return cause.message.replace(/^Response does not match .* \((.*)\)$/, "Parse Error: $1") || code;
}

function codeOf(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
