// Limits of keys and of entities as the API spells them.
import { Type, type Static } from "typebox";
import { limitMaxima, type KeyLimits } from "../../../base/domain/keys/limits.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import type { WirePlaces } from "../places.ts";

const spellings = {
  requestsPerMinute: "requests_per_minute",
  tokensPerMinute: "tokens_per_minute",
  concurrentRequests: "concurrent_requests",
  queuePercent: "queue_percent",
  queuedJobs: "queued_jobs",
} as const satisfies { readonly [Limit in keyof KeyLimits]: string };

const about = {
  requestsPerMinute: "Requests to models in any minute.",
  tokensPerMinute: "Tokens of prompts and answers together, in any minute.",
  concurrentRequests: "Requests to models that are being answered at once.",
  queuePercent: "Of the requests that may wait for a model on a server, in percent.",
  queuedJobs: "Training jobs that wait.",
} as const satisfies { readonly [Limit in keyof KeyLimits]: string };

function field(limit: keyof KeyLimits) {
  return nullable(Type.Integer({ minimum: 1, maximum: limitMaxima[limit] }), {
    description: `${about[limit]} Null: no limit.`,
  });
}

export const limitFields = {
  requests_per_minute: field("requestsPerMinute"),
  tokens_per_minute: field("tokensPerMinute"),
  concurrent_requests: field("concurrentRequests"),
  queue_percent: field("queuePercent"),
  queued_jobs: field("queuedJobs"),
};

const changeSchema = Type.Object(limitFields, { title: "EntityLimitsChange" });
export const entityLimitsForm: BodyForm<typeof changeSchema> = { schema: changeSchema };

function shown(limit: keyof KeyLimits) {
  return orNull(Type.Integer(), { description: about[limit] });
}

export const shownLimits = {
  requests_per_minute: shown("requestsPerMinute"),
  tokens_per_minute: shown("tokensPerMinute"),
  concurrent_requests: shown("concurrentRequests"),
  queue_percent: shown("queuePercent"),
  queued_jobs: shown("queuedJobs"),
};

export const entityLimitsSchema = Type.Object(
  { entity: Type.String(), ...shownLimits },
  { title: "EntityLimits" },
);

/** Where a client sent what a service says of a limit. */
export const limitPlaces: WirePlaces = Object.fromEntries(
  Object.entries(spellings).map(([limit, name]) => [limit, ["body", name]]),
);

/** The limits that a body names; null takes one away. */
export function limitsIn(body: Static<typeof changeSchema>): Partial<KeyLimits> {
  return Object.fromEntries(
    Object.entries(spellings).flatMap(([limit, name]) => {
      const value = body[name];
      return value === undefined ? [] : [[limit, value]];
    }),
  );
}

export function limitsBody(limits: KeyLimits) {
  return {
    requests_per_minute: limits.requestsPerMinute,
    tokens_per_minute: limits.tokensPerMinute,
    concurrent_requests: limits.concurrentRequests,
    queue_percent: limits.queuePercent,
    queued_jobs: limits.queuedJobs,
  };
}
