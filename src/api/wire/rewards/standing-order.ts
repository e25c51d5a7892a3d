// How a reward rule trains by itself, as requests spell it, and what it is about, as answers say it.
import { Type, type Static } from "typebox";
import type { StandingOrder, StandingProgress } from "../../../base/domain/rewards/stored-rule.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { nullable, orNull } from "../nullable.ts";
import {
  checkTrainingConfig,
  toTrainingConfig,
  trainingConfigBody,
  trainingConfigSchema,
} from "../training/training-config.ts";

/** More would be a mistake. */
export const groupsMax = 10_000;

/** Which feedback a job is made of. */
export const feedbackSelectionFields = {
  filter: nullable(Type.Object({}, { additionalProperties: true }), {
    description:
      'Which feedback of the model\'s project: `{"$expr": …}` in the language of `/feedback/query`.',
    "x-default": "all that the rule reads",
  }),
  since: nullable(Type.String({ format: "date-time" }), { description: "Feedback from then on alone." }),
  version_age_max: nullable(Type.Integer({ minimum: 0, maximum: 1_000_000 }), {
    description: "Answers of versions that are more versions older than the newest do not train.",
    "x-default": "any",
  }),
};

export const experimentalConfigField = nullable(trainingConfigSchema, {
  description: "How it is trained, as for any training job; what is not applied is listed in the job.",
});

const standingFields = {
  groups_min: nullable(Type.Integer({ minimum: 1, maximum: groupsMax }), {
    default: 8,
    description:
      "No job with fewer groups: prompts with answers of differing rewards, one with new feedback at least.",
  }),
  groups_max: nullable(Type.Integer({ minimum: 1, maximum: groupsMax }), {
    default: 256,
    description: "No job with more; what is left waits for the next.",
  }),
  seconds_between: nullable(Type.Number({ minimum: 0, maximum: 31_536_000 }), {
    default: 3600,
    description: "From one job to the next at least.",
  }),
  jobs_per_day: nullable(Type.Integer({ minimum: 1, maximum: 10_000 }), {
    default: 24,
    description: "Jobs within 24 hours at most.",
  }),
  tokens_per_day: nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }), {
    description: "Tokens of prompts and answers that its jobs within 24 hours may train on.",
    "x-default": "any number",
  }),
};

export const standingSchema = Type.Object(
  {
    model_id: Type.String({ format: "uuid", description: "The model to train, of the rule's project." }),
    ...feedbackSelectionFields,
    experimental_config: experimentalConfigField,
    ...standingFields,
  },
  { title: "StandingOrder" },
);

export type StandingBody = Static<typeof standingSchema>;

/** Adds what the schema cannot say of an order. */
export function checkStanding(order: unknown, findings: Findings): void {
  if (!isObject(order)) return;
  checkTrainingConfig(order["experimental_config"], findings);
  const { groups_min: least, groups_max: most } = order;
  if (typeof least === "number" && typeof most === "number" && least > most) {
    const message = `Value error, groups_min is ${least} and groups_max ${most}; it may not be more.`;
    report(findings, "value_error", message, "standing", "groups_min");
  }
}

/** Reads a checked order. */
export function toStandingOrder(body: StandingBody): StandingOrder {
  const groupsMin = body.groups_min ?? 8;
  return {
    modelId: body.model_id.toLowerCase(),
    // It came out of JSON.
    filter: (body.filter ?? null) as JsonObject | null,
    since: typeof body.since === "string" ? new Date(body.since) : null,
    groupsMin,
    groupsMax: body.groups_max ?? Math.max(256, groupsMin),
    secondsBetween: body.seconds_between ?? 3600,
    jobsPerDay: body.jobs_per_day ?? 24,
    tokensPerDay: body.tokens_per_day ?? null,
    versionAgeMax: body.version_age_max ?? null,
    config: toTrainingConfig(body.experimental_config ?? {}),
  };
}

export function standingBody(order: StandingOrder): object {
  return {
    model_id: order.modelId,
    filter: order.filter,
    since: order.since?.toISOString() ?? null,
    version_age_max: order.versionAgeMax,
    experimental_config: trainingConfigBody(order.config),
    groups_min: order.groupsMin,
    groups_max: order.groupsMax,
    seconds_between: order.secondsBetween,
    jobs_per_day: order.jobsPerDay,
    tokens_per_day: order.tokensPerDay,
  };
}

const count = Type.Integer({ minimum: 0 });
const statuses = ["paused", "collecting", "training", "waiting", "ready"] as const;

export const standingStateSchema = Type.Object(
  {
    status: Type.Enum([...statuses], {
      description:
        "`collecting` lacks groups, `training` has a job that has not ended, `waiting` may not make one yet, `ready` makes one at once.",
    }),
    reason: Type.String({ description: "Why, for people." }),
    next_job_at: orNull(Type.String({ format: "date-time" }), {
      description: "Not before; null where it may be now.",
    }),
    groups_ready: count,
    groups_min: count,
    jobs_last_day: count,
    tokens_last_day: count,
    last_job_id: orNull(Type.String({ format: "uuid" })),
  },
  { title: "StandingState" },
);

/** What {@link standingStateSchema} is written of. */
export interface ShownState {
  readonly kind: (typeof statuses)[number];
  readonly reason: string;
  readonly nextJobAt: Date | null;
  readonly jobCount: number;
  readonly tokenCount: number;
  readonly progress: StandingProgress;
}

export function standingStateBody({ groupsMin }: StandingOrder, state: ShownState): object {
  return {
    status: state.kind,
    reason: state.reason,
    next_job_at: state.nextJobAt?.toISOString() ?? null,
    groups_ready: state.progress.readyCount,
    groups_min: groupsMin,
    jobs_last_day: state.jobCount,
    tokens_last_day: state.tokenCount,
    last_job_id: state.progress.lastJob?.id ?? null,
  };
}
