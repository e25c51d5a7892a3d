// The loop's interface to constraints: prepare one for a request, and get a mask of allowed tokens before each token
// of each choice. Computing a mask begins as soon as the token before it is drawn, in parallel with the model. A mask
// that is not ready is asked for again later.
import type { Constraint } from "../../../base/domain/constraint.ts";

export interface ConstraintBackend {
  /**
   * Resolves when the constraint is ready to use.
   *
   * @param options.signal aborting it drops a constraint that waits to be prepared, and rejects the promise
   * @throws ServiceError `unsupported` for a constraint that cannot be served, with the reason and the alternatives;
   * `internal` when the computing thread breaks down
   */
  prepare(constraint: Constraint, options: { readonly signal: AbortSignal }): Promise<PreparedConstraint>;
  /** Stops its threads. */
  close(): Promise<void>;
}

/** A constraint on the choices of one request. */
export interface PreparedConstraint {
  /** Notices for the caller, a sentence each. */
  readonly notices: readonly string[];
  /** Opens a cursor after these tokens of a choice, which masks allowed, or before its first; its mask is started. */
  open(tokenIds?: readonly number[]): ConstraintCursor;
  /** No more cursors are opened afterwards. Idempotent. */
  release(): void;
}

/** Position in the answer of one choice. */
export interface ConstraintCursor {
  /** Moves past a token that the last mask allowed; the next mask is started. */
  accept(tokenId: number): void;
  /**
   * Mask of the next token; null while it is computed. Valid until the cursor moves.
   *
   * @throws ServiceError `unsupported` if the constraint turns out to exceed its cost limits, `internal` when the
   * computing thread breaks down
   */
  next(): TokenMask | null;
  /** Blocks the thread until the next mask is ready, at most until this time of the monotonic clock. */
  waitUntil(endMs: number): void;
  /** Closes the cursor. Idempotent. */
  close(): void;
}

export interface TokenMask {
  /** Bit `id % 32` of word `id / 32` is set for an allowed token; ids beyond the last word are forbidden. */
  readonly allowed: Uint32Array;
  /** True if the answer may end here. */
  readonly mayEnd: boolean;
}
