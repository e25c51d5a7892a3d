// Limits as flags, of a key and of an entity.
import type { KeyLimits } from "../../../base/domain/keys/limits.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";

export interface LimitFlags {
  readonly requestsPerMinute?: string;
  readonly tokensPerMinute?: string;
  readonly concurrentRequests?: string;
  readonly queuePercent?: string;
  readonly queuedJobs?: string;
}

/** Each with what it means. */
export const limitFlags: readonly (readonly [flag: string, about: string])[] = [
  ["--requests-per-minute <count>", "requests to models in any minute"],
  ["--tokens-per-minute <count>", "tokens of prompts and answers in any minute"],
  ["--concurrent-requests <count>", "requests to models that are being answered at once"],
  ["--queue-percent <percent>", "of the requests that may wait for a model on a server"],
  ["--queued-jobs <count>", "training jobs that wait"],
];

/** The limits that are named; `none` takes one away. @throws ServiceError `invalid` for what is no number */
export function limitsOf(flags: LimitFlags): Partial<KeyLimits> {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, queuePercent, queuedJobs } = flags;
  return {
    ...named("requestsPerMinute", "--requests-per-minute", requestsPerMinute),
    ...named("tokensPerMinute", "--tokens-per-minute", tokensPerMinute),
    ...named("concurrentRequests", "--concurrent-requests", concurrentRequests),
    ...named("queuePercent", "--queue-percent", queuePercent),
    ...named("queuedJobs", "--queued-jobs", queuedJobs),
  };
}

function named(limit: keyof KeyLimits, flag: string, text: string | undefined): Partial<KeyLimits> {
  if (text === undefined) return {};
  if (text === "none") return { [limit]: null };
  if (/^\d{1,15}$/.test(text)) return { [limit]: Number(text) };
  const message = `${flag} is ${JSON.stringify(text)}; it must be a whole number, or none.`;
  throw new ServiceError({ code: "invalid", message });
}
