// Finds the calls of a rollout whose answers the client never received, because it sent the same call again. Training
// leaves these answers out. An answer that may have been received is kept.
import type { CallAttempt } from "../../base/domain/rollouts/call-attempt.ts";
import type { LinkedAnswer } from "./link-calls.ts";

/** A recorded call, as far as it is compared with others. */
export interface ComparedCall {
  /** Null if the client does not identify its attempts. */
  readonly attempt: CallAttempt | null;
  /** True if the server knows that the client did not receive the answer. */
  readonly isUndelivered: boolean;
  readonly answers: readonly LinkedAnswer[];
}

/**
 * Returns the replaced calls, each with the call that replaces it. A call replaces at most one other, and only if no
 * other comes into question.
 *
 * @param calls in the order in which they began
 */
export function replacedCalls<Call extends ComparedCall>(calls: readonly Call[]): ReadonlyMap<Call, Call> {
  const replaced = new Map<Call, Call>();
  const earlier = new Map<string, Call[]>();
  for (const call of calls) {
    const { attempt } = call;
    if (attempt === null) continue;
    const same = earlier.get(attempt.hash) ?? [];
    if (attempt.mayReplace) {
      const candidates = latestBefore(
        attempt,
        same.filter((one) => !replaced.has(one)),
      );
      const undelivered = candidates.find(({ isUndelivered }) => isUndelivered);
      const possible = candidates.filter((one) => hasSameTokens(one, call) || !isContinued(one, calls));
      const found = undelivered ?? (possible.length === 1 ? possible[0] : undefined);
      if (found !== undefined) replaced.set(found, call);
    }
    earlier.set(attempt.hash, [...same, call]);
  }
  return replaced;
}

/** Returns the calls with the highest retry count below this attempt's. With an idempotency key, returns all calls. */
function latestBefore<Call extends ComparedCall>(
  { retryCount }: CallAttempt,
  same: readonly Call[],
): readonly Call[] {
  if (retryCount === null) return same;
  const countOf = ({ attempt }: ComparedCall): number => attempt?.retryCount ?? 0;
  const before = same.filter((one) => countOf(one) < retryCount);
  const latest = Math.max(...before.map(countOf));
  return before.filter((one) => countOf(one) === latest);
}

/** True if both calls have the same answers. A later call then continues both, so either may be left out. */
function hasSameTokens({ answers }: ComparedCall, other: ComparedCall): boolean {
  if (answers.length !== other.answers.length) return false;
  return answers.every((answer, index) => {
    const whole = tokensOf(answer);
    const otherWhole = tokensOf(other.answers[index]);
    return whole.length === otherWhole.length && isPrefix(whole, otherWhole);
  });
}

/** True if the prompt of another call begins with an answer of this call, so that the client has received it. */
function isContinued({ answers }: ComparedCall, calls: readonly ComparedCall[]): boolean {
  return answers
    .map(tokensOf)
    .some((whole) =>
      calls.some((call) => call.answers.some(({ promptTokenIds }) => isPrefix(whole, promptTokenIds))),
    );
}

function tokensOf({ promptTokenIds, tokenIds }: LinkedAnswer): readonly number[] {
  return [...promptTokenIds, ...tokenIds];
}

function isPrefix(tokens: readonly number[], longer: readonly number[]): boolean {
  return tokens.length <= longer.length && tokens.every((token, index) => token === longer[index]);
}
