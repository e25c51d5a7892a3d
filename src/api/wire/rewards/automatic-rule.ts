// API format of a reward rule that trains automatically: its settings in requests, and its state in answers.
import { Type } from "typebox";
import {
  feedbackSelection,
  automaticLimits,
  type AutomaticOrder,
  type AutomaticProgress,
  type RolloutQueue,
} from "../../../base/domain/rewards/stored-rule.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { isObject, report, type Findings } from "../../../base/validation/findings.ts";
import { answerOf, creationRows, creation, readBy } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import {
  checkTrainingConfig,
  toTrainingConfig,
  trainingConfigBody,
  trainingConfigSchema,
} from "../training/training-config.ts";

/** Request fields that select which feedback a job trains on. */
export const feedbackSelectionFields = {
  filter: readBy(
    nullable(Type.Object({}, { additionalProperties: true }), {
      description:
        'Filter on the feedback of the model\'s project: `{"$expr": …}` in the query language of `/feedback/query`. Feedback that does not match is ignored.',
      "x-default": "all feedback that the rule reads",
    }),
    // Safe cast: parsed from JSON.
    (filter) => filter as JsonObject,
    null,
  ),
  ...creationRows(feedbackSelection),
};

export const experimentalConfigField = nullable(trainingConfigSchema, {
  description:
    "Settings of the job, as for any reinforcement learning job. The job's `config_not_applied` lists settings that have no effect.",
});

const limits = creationRows(automaticLimits);

const rolloutQueueForm = creation("RolloutQueue", {
  split: nullable(Type.String({ minLength: 1, maxLength: 64 }), {
    description: "Only rollouts of this split. Null: all splits.",
  }),
  group_size_min: readBy(
    nullable(Type.Integer({ minimum: 2, maximum: 10_000 }), {
      default: 2,
      description: "Minimum number of finished rollouts in a group. A group with an open rollout waits.",
    }),
    (size) => size,
    2,
  ),
});

const automaticRuleForm = creation("StandingOrder", {
  model_id: readBy(
    Type.String({
      format: "uuid",
      description: "Id of the model to train, which must be in the rule's project.",
    }),
    (id) => id.toLowerCase(),
  ),
  rollouts: readBy(
    nullable(rolloutQueueForm.schema, {
      description:
        "Trains on finished rollouts of the model, instead of feedback. The rule then has no `terms`, `filter` or `since`. Null: the rule trains on feedback.",
    }),
    (queue) => rolloutQueueForm.to(queue),
    null,
  ),
  ...feedbackSelectionFields,
  experimental_config: readBy(experimentalConfigField, toTrainingConfig, toTrainingConfig({})),
  ...limits,
  groups_max: readBy(limits.groups_max.schema, Number),
  seconds_between: readBy(limits.seconds_between.schema, Number),
  jobs_per_day: readBy(limits.jobs_per_day.schema, Number),
});

export const automaticRuleSchema = automaticRuleForm.schema;

/** Adds faults of the settings that the schema cannot detect. */
export function checkAutomaticRule(order: unknown, findings: Findings): void {
  if (!isObject(order)) return;
  checkTrainingConfig(order["experimental_config"], findings);
  const { groups_min: least, groups_max: most } = order;
  for (const name of ["filter", "since"]) {
    if ((order["rollouts"] ?? null) === null || (order[name] ?? null) === null) continue;
    report(
      findings,
      "value_error",
      `${name} selects feedback, and this rule trains on rollouts`,
      "standing",
      name,
    );
  }
  if (typeof least === "number" && typeof most === "number" && least > most) {
    const message = `Value error, groups_min is ${least} and groups_max ${most}; it may not be more.`;
    report(findings, "value_error", message, "standing", "groups_min");
  }
}

/** Converts the checked settings of automatic training to the domain's form. */
export function toAutomaticRule(body: object): AutomaticOrder {
  const {
    experimentalConfig: config,
    groupsMax,
    secondsBetween,
    jobsPerDay,
    ...order
  } = automaticRuleForm.to(body);
  const isQueue = order.rollouts !== null;
  return {
    ...order,
    groupsMax: groupsMax ?? Math.max(256, order.groupsMin),
    secondsBetween: secondsBetween ?? (isQueue ? 0 : 3600),
    jobsPerDay: jobsPerDay ?? (isQueue ? 10_000 : 24),
    config,
  };
}

const { properties } = automaticRuleSchema;

const rolloutQueueBody = answerOf<RolloutQueue>()(null, rolloutQueueForm.schema.properties).body;

/** Converts the settings to an answer, which has the same form as a request. */
export const automaticRuleBody = answerOf<AutomaticOrder>()(null, {
  ...properties,
  rollouts: [properties.rollouts, ({ rollouts }) => rollouts && rolloutQueueBody(rollouts)],
  experimental_config: [properties.experimental_config, ({ config }) => trainingConfigBody(config)],
}).body;

const count = (description: string) => Type.Integer({ minimum: 0, description });
const statuses = ["paused", "collecting", "training", "waiting", "ready"] as const;

export interface ShownState {
  readonly kind: (typeof statuses)[number];
  readonly reason: string;
  readonly nextJobAt: Date | null;
  readonly jobCount: number;
  readonly tokenCount: number;
  readonly progress: AutomaticProgress;
}

/** State of a rule that trains automatically. */
export const automaticStateAnswer = answerOf<ShownState & { readonly order: AutomaticOrder }>()(
  "StandingState",
  {
    status: [
      Type.Enum([...statuses], {
        description:
          "`collecting`: fewer than `groups_min` groups are ready. `training`: a job of the rule has not ended. `waiting`: a limit of the rule does not allow a job yet. `ready`: a job is about to be created.",
      }),
      ({ kind }) => kind,
    ],
    reason: Type.String({ description: "Sentence that explains the status." }),
    next_job_at: orNull(Type.String({ format: "date-time" }), {
      description: "Earliest time of the next job; null if a job may be created now.",
    }),
    groups_ready: [
      count("Number of groups that are ready for the next job."),
      ({ progress }) => progress.readyCount,
    ],
    groups_min: [count("The rule's `groups_min`."), ({ order }) => order.groupsMin],
    jobs_last_day: [count("Number of jobs created in the last 24 hours."), ({ jobCount }) => jobCount],
    tokens_last_day: [
      count("Number of prompt and answer tokens in the jobs created in the last 24 hours."),
      ({ tokenCount }) => tokenCount,
    ],
    last_job_id: [
      orNull(Type.String({ format: "uuid" }), {
        description: "Id of the newest job that the rule created; null if it created none.",
      }),
      ({ progress }) => progress.lastJob?.id ?? null,
    ],
  },
);
