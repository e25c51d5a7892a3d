// For tests: answers of the stub server, in the error format of each kind of Tinker server.
import type { ServerKindName } from "../server-kinds.ts";

export interface StubAnswer {
  readonly status: number;
  readonly json?: unknown;
  readonly bytes?: Uint8Array;
  readonly contentType?: string;
  /** Archive to which the answer redirects the client, as `<model>/<name>`. */
  readonly archive?: string;
}

export class StubRefusal extends Error {
  readonly #status: number;

  constructor(status: number, message: string) {
    super(message);
    this.#status = status;
  }

  answer(kind: ServerKindName): StubAnswer {
    return {
      status: this.#status,
      json: kind === "open-rl" ? { error: this.message } : { detail: this.message },
    };
  }
}

/** Returns the answer to a poll for an operation that has failed permanently. */
export function failedFuture(kind: ServerKindName, message: string): StubAnswer {
  switch (kind) {
    case "tuft":
      return { status: 422, json: { detail: `Future failed: ${message}` } };
    case "open-rl":
      return { status: 400, json: { type: "RequestFailedResponse", error_message: message } };
    case "tinker":
      return { status: 200, json: { error: message, category: "user" } };
    default:
      return { status: 400, json: { detail: message } };
  }
}

/** Returns the answer to a poll for a result that is still pending. */
export function pendingFuture(kind: ServerKindName, requestId: string): StubAnswer {
  if (kind !== "tinker") return { status: 408, json: { detail: "Timeout waiting for result" } };
  return { status: 200, json: { type: "try_again", request_id: requestId, queue_state: "active" } };
}
