// Limits as the columns of a key and of an entity hold them.
import type { KeyLimits } from "../../../base/domain/keys/limits.ts";

export interface LimitColumns {
  readonly requests_per_minute: number | null;
  readonly tokens_per_minute: number | null;
  readonly concurrent_requests: number | null;
  readonly queue_percent: number | null;
  readonly queued_jobs: number | null;
}

/** Of those limits that are named. */
export function limitColumns(limits: KeyLimits): LimitColumns;
export function limitColumns(limits: Partial<KeyLimits>): Partial<LimitColumns>;
export function limitColumns(limits: Partial<KeyLimits>): Partial<LimitColumns> {
  const { requestsPerMinute, tokensPerMinute, concurrentRequests, queuePercent, queuedJobs } = limits;
  return {
    ...(requestsPerMinute === undefined ? {} : { requests_per_minute: requestsPerMinute }),
    ...(tokensPerMinute === undefined ? {} : { tokens_per_minute: tokensPerMinute }),
    ...(concurrentRequests === undefined ? {} : { concurrent_requests: concurrentRequests }),
    ...(queuePercent === undefined ? {} : { queue_percent: queuePercent }),
    ...(queuedJobs === undefined ? {} : { queued_jobs: queuedJobs }),
  };
}

export function limitsOf(row: LimitColumns): KeyLimits {
  return {
    requestsPerMinute: row.requests_per_minute,
    tokensPerMinute: row.tokens_per_minute,
    concurrentRequests: row.concurrent_requests,
    queuePercent: row.queue_percent,
    queuedJobs: row.queued_jobs,
  };
}

/** An entity's limits beside a key's, under names of their own. */
export const entityColumns = [
  "entity_limits.requests_per_minute as entity_requests_per_minute",
  "entity_limits.tokens_per_minute as entity_tokens_per_minute",
  "entity_limits.concurrent_requests as entity_concurrent_requests",
  "entity_limits.queue_percent as entity_queue_percent",
  "entity_limits.queued_jobs as entity_queued_jobs",
] as const;

/** Null in all where the entity has none. */
type EntityColumns = { readonly [Column in keyof LimitColumns as `entity_${Column}`]: LimitColumns[Column] };

export function entityLimitsOf(row: EntityColumns): KeyLimits {
  return {
    requestsPerMinute: row.entity_requests_per_minute,
    tokensPerMinute: row.entity_tokens_per_minute,
    concurrentRequests: row.entity_concurrent_requests,
    queuePercent: row.entity_queue_percent,
    queuedJobs: row.entity_queued_jobs,
  };
}
