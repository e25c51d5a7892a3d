// Remembers attempts at calls of rollouts that failed on this server. If the client sends such a call again, the new
// answer replaces none, even if the rollout has an answer to an equal request.
import type { CallAttempt } from "../../base/domain/rollouts/call-attempt.ts";

/** Maximum number of calls that are remembered, each of about 200 bytes. The oldest are forgotten. */
const callsMax = 10_000;

type Numbered = Pick<CallAttempt, "hash"> & { readonly retryCount: number };

export class FailedAttempts {
  /** Number of failed attempts that have not been repeated yet, by hash and retry count. */
  readonly #counts = new Map<string, number>();

  add({ hash, retryCount }: Numbered): void {
    const key = `${hash} ${retryCount}`;
    const count = this.#counts.get(key) ?? 0;
    this.#counts.delete(key);
    this.#counts.set(key, count + 1);
    const [oldest] = this.#counts.keys();
    if (this.#counts.size > callsMax && oldest !== undefined) this.#counts.delete(oldest);
  }

  /** Returns true if this attempt repeats a failed one, and forgets the failed one. */
  take({ hash, retryCount }: Numbered): boolean {
    const key = `${hash} ${retryCount - 1}`;
    const count = this.#counts.get(key) ?? 0;
    if (count === 0) return false;
    if (count === 1) this.#counts.delete(key);
    else this.#counts.set(key, count - 1);
    return true;
  }
}
