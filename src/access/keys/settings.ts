// What keys go by: limits of entities that have none of their own.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";
import { limitMaxima, type KeyLimits } from "../../base/domain/keys/limits.ts";

const schema = {
  entityRequestsPerMinute: {
    kind: "integer",
    default: 0,
    min: 0,
    max: limitMaxima.requestsPerMinute,
    about:
      "Requests to models that all keys of an entity may send together in a minute, unless it has a limit of its own; 0 is no limit.",
  },
  entityTokensPerMinute: {
    kind: "integer",
    default: 0,
    min: 0,
    max: limitMaxima.tokensPerMinute,
    about: "The same for tokens of prompts and answers.",
  },
  entityConcurrentRequests: {
    kind: "integer",
    default: 0,
    min: 0,
    max: limitMaxima.concurrentRequests,
    about: "The same for requests to models that are being answered at once.",
  },
  entityQueuePercent: {
    kind: "integer",
    default: 0,
    min: 0,
    max: limitMaxima.queuePercent,
    about:
      "The same for its part of the requests that may wait for a model on a server (`engine.waitingCountMax`), in percent.",
  },
} as const satisfies SettingsSchema;

export const keySettings = section(schema);

export type KeySettings = SettingsIn<typeof keySettings>;

/** Limits of entities that have none of their own; those of jobs are the queue's. */
export function entityLimitsOf(settings: KeySettings): KeyLimits {
  const orNone = (limit: number): number | null => (limit === 0 ? null : limit);
  return {
    requestsPerMinute: orNone(settings.entityRequestsPerMinute),
    tokensPerMinute: orNone(settings.entityTokensPerMinute),
    concurrentRequests: orNone(settings.entityConcurrentRequests),
    queuePercent: orNone(settings.entityQueuePercent),
    queuedJobs: null,
  };
}
