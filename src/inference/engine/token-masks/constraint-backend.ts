// The loop's interface to constraints: prepares a constraint for a request, and provides a mask of allowed tokens
// before each token of each choice. Computing a mask begins as soon as the preceding token is drawn, in parallel with
// the model. While a mask is not ready, the loop asks for it again in each step.
import type { Constraint } from "../../../base/domain/constraint.ts";

export interface ConstraintBackend {
  /**
   * Prepares a constraint. The promise resolves when the constraint is ready to use.
   *
   * @param options.signal when it aborts, the promise rejects, and a constraint that still waits to be prepared is
   * dropped
   * @throws ServiceError `unsupported` for a constraint that cannot be served, with the reason and the alternatives;
   * `internal` when the computing thread breaks down
   */
  prepare(constraint: Constraint, options: { readonly signal: AbortSignal }): Promise<PreparedConstraint>;
  /** Stops the backend's threads. */
  close(): Promise<void>;
}

/** A constraint that is ready to use for the choices of one request. */
export interface PreparedConstraint {
  /** Notices for the caller of the API, one sentence each. */
  readonly notices: readonly string[];
  /**
   * Opens a cursor, which follows one choice, and starts computing its first mask.
   *
   * @param tokenIds tokens after which the cursor begins, all allowed by earlier masks; if absent, it begins before the
   * choice's first token
   */
  open(tokenIds?: readonly number[]): ConstraintCursor;
  /** Releases the constraint. No cursors may be opened after that. Idempotent. */
  release(): void;
}

/** Follows the tokens of one choice through its constraint. */
export interface ConstraintCursor {
  /** Moves past a token that the last mask allowed, and starts computing the next mask. */
  accept(tokenId: number): void;
  /**
   * Returns the mask of the next token; null while it is being computed. The mask is valid until the cursor moves.
   *
   * @throws ServiceError `unsupported` if the constraint turns out to exceed its cost limits, `internal` when the
   * computing thread breaks down
   */
  next(): TokenMask | null;
  /** Blocks the thread until the next mask is ready, at most until `endMs` of the monotonic clock. */
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
