// Attempts at calls of rollouts. If a connection breaks after the server has generated the answer, the client sends the
// call again, and the rollout has two answers to the call.

/** Attempt at a call, as its client identifies it. */
export interface CallAttempt {
  /** Hash that all attempts at the same call have in common. Other calls have it only if their requests are the same. */
  readonly hash: string;
  /** Number of earlier attempts; null if the hash contains an idempotency key, which no other call has. */
  readonly retryCount: number | null;
  /** True if an answer to an earlier attempt may be recorded, which the answer to this attempt then replaces. */
  readonly mayReplace: boolean;
}
