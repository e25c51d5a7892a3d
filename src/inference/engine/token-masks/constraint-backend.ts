// What the loop asks of constraints: to be prepared once for a request, and to say before each token of each choice which
// ones may come. A mask is begun when the token before it is drawn, so that it can be computed while the model computes;
// one that is not there yet is asked for again later.
import type { Constraint } from "../../../base/domain/constraint.ts";

export interface ConstraintBackend {
  /**
   * Resolves when answers can be held to the constraint.
   *
   * @param options.signal what waits to be prepared is dropped when it aborts; the promise then rejects
   * @throws ServiceError `unsupported` for one that cannot be served; the message says why and what is possible instead;
   *   `internal` when whatever computes breaks down
   */
  prepare(constraint: Constraint, options: { readonly signal: AbortSignal }): Promise<PreparedConstraint>;
  /** Ends whatever computes. */
  close(): Promise<void>;
}

/** A constraint that choices of one request are held to. */
export interface PreparedConstraint {
  /** Notices for the caller, a sentence each. */
  readonly notices: readonly string[];
  /** A place behind these tokens of a choice, which masks allowed, or before its first; its mask is begun. */
  open(tokenIds?: readonly number[]): ConstraintCursor;
  /** Nothing more is opened. Idempotent. */
  release(): void;
}

/** A place in the answer of one choice. */
export interface ConstraintCursor {
  /** Moves behind a token that the last mask allowed; the next mask is begun. */
  accept(tokenId: number): void;
  /**
   * What may come next; null while it is computed. Valid until the place moves.
   *
   * @throws ServiceError `unsupported` when the constraint turns out to cost more than its limits allow, `internal` when
   *   whatever computes breaks down
   */
  next(): TokenMask | null;
  /** Blocks the thread until the next mask is there, at most until this time of the monotonic clock. */
  waitUntil(endMs: number): void;
  /** Gives the place up. Idempotent. */
  close(): void;
}

export interface TokenMask {
  /** Bit `id % 32` of word `id / 32` is set for a token that may come; ids beyond the last word may not. */
  readonly allowed: Uint32Array;
  /** Whether the answer may end here. */
  readonly mayEnd: boolean;
}
