// Failure to fetch a prompt from another server: its kind for metrics, and a clause for the client and the log.

export type FailureKind =
  /** The other server did not respond, or its response did not come from Hone. */
  | "unreachable"
  /** The other server uses a different secret. */
  | "refused"
  /** The other server never had the prompt's KV cache, or no longer holds it. */
  | "gone"
  /**
   * The other server holds a different prompt, or computed the prompt with other weights, precision, build or adapter.
   */
  | "different"
  /** The prompt was truncated or changed on the way. */
  | "broken"
  | "timeout"
  /** This server has no room for the prompt. */
  | "no-room";

export class TransferFailure extends Error {
  readonly kind: FailureKind;

  /**
   * @param clause reason for the failure, in which `it` means the other server, such as `it holds no such prompt any
   * more`; reveals nothing internal
   */
  constructor(kind: FailureKind, clause: string, options: { readonly cause?: unknown } = {}) {
    super(clause, options);
    this.kind = kind;
  }
}
