// Why a prompt could not be had from another server: for metrics as a word, for the client and the log as a clause.

export type FailureKind =
  /** Nothing answered, or not as a server of this program does. */
  | "unreachable"
  /** The other server knows another secret. */
  | "refused"
  /** The other server does not hold it, or not any more. */
  | "gone"
  /** Other weights, precision, build or adapter; or another prompt. */
  | "different"
  /** It ended early, or was changed. */
  | "broken"
  | "timeout"
  /** This server has no room for it. */
  | "no-room";

export class TransferFailure extends Error {
  readonly kind: FailureKind;

  /** @param clause of the other server as `it`, such as `it holds no such prompt any more`; says nothing internal */
  constructor(kind: FailureKind, clause: string, options: { readonly cause?: unknown } = {}) {
    super(clause, options);
    this.kind = kind;
  }
}
