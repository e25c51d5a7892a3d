// Failure to get a prompt from another server: a kind for metrics, and a clause for the client and the log.

export type FailureKind =
  /** No answer, or not one of a server of this program. */
  | "unreachable"
  /** The other server has another secret. */
  | "refused"
  /** The other server does not hold the prompt, or no longer. */
  | "gone"
  /** Other weights, precision, build or adapter; or another prompt. */
  | "different"
  /** The prompt was truncated or changed. */
  | "broken"
  | "timeout"
  /** This server has no room for it. */
  | "no-room";

export class TransferFailure extends Error {
  readonly kind: FailureKind;

  /** @param clause with the other server as `it`, such as `it holds no such prompt any more`; reveals nothing internal */
  constructor(kind: FailureKind, clause: string, options: { readonly cause?: unknown } = {}) {
    super(clause, options);
    this.kind = kind;
  }
}
