// API format of rollouts: requests that create and finish them, and answers that show them.
import { Type } from "typebox";
import { type Rollout, type RolloutOutcome, rolloutStates } from "../../../base/domain/rollouts/rollout.ts";
import { quoted } from "../../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../../base/domain/text/json.ts";
import { isStorable } from "../../../base/domain/text/storable.ts";
import { report } from "../../../base/validation/findings.ts";
import type { MoreChecks } from "../body.ts";
import { anyObject } from "../fields/any-object.ts";
import { answerOf, creation, readBy } from "../fields/resource.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";

/** Maximum number of a rollout's metrics; also of its calls that have their own rewards. */
const namedMax = 1000;

const numbers = (value: ReturnType<typeof Type.Number>, description: string) =>
  nullable(Type.Object({}, { additionalProperties: value, maxProperties: namedMax }), { description });

const refuseStrangeText: MoreChecks = (body, findings) => {
  for (const name of ["group", "split"]) {
    const text = body[name];
    if (typeof text !== "string" || isStorable(text)) continue;
    report(findings, "value_error", `${name} is ${quoted(text)}; it must not have control characters`, name);
  }
};

export const rolloutCreateForm = creation(
  "RolloutCreate",
  {
    task: readBy(
      Type.Optional(
        Type.Unknown({
          description: "Task that the agent gets, as any JSON value. Returned unchanged.",
        }),
      ),
      (task) => task as Json,
      null,
    ),
    group: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
      description:
        "Group of the rollout. A training job compares the rewards of rollouts in the same group. Null: the rollouts of the same task form a group.",
    }),
    split: readBy(
      nullable(Type.String({ minLength: 1, maxLength: 64 }), {
        default: "train",
        description: "Split of the rollout, by which lists and jobs can select it.",
      }),
      (split) => split,
      "train",
    ),
    metadata: readBy(
      nullable(anyObject, {
        default: {},
        description: "Further data about the rollout. Returned unchanged.",
      }),
      (metadata) => metadata as JsonObject,
      {},
    ),
    expires: readBy(
      nullable(Type.Integer({ minimum: 1, maximum: 604_800 }), {
        default: 3600,
        description: "Seconds after which the rollout expires, unless it has been finished or cancelled.",
      }),
      (seconds) => seconds,
      3600,
    ),
    version: nullable(Type.Integer({ minimum: 0 }), {
      description: "Version that answers all calls. Null: the newest version at the time of this request.",
    }),
    follow_new_versions: readBy(
      nullable(Type.Boolean(), {
        default: false,
        description: "True to answer each call with the version that is the newest at the time of the call.",
      }),
      (follows) => follows,
      false,
    ),
  },
  { more: refuseStrangeText },
);

export const rolloutFinishForm = creation("RolloutFinish", {
  reward: Type.Number({ description: "Reward of the rollout." }),
  metrics: readBy(
    nullable(
      Type.Object(
        {},
        {
          additionalProperties: Type.Union([
            Type.Number({ title: "float" }),
            Type.Boolean({ title: "bool" }),
          ]),
          maxProperties: namedMax,
        },
      ),
      { default: {}, description: "Metrics of the rollout, by name." },
    ),
    (metrics) => metrics as RolloutOutcome["metrics"],
    {},
  ),
  call_rewards: readBy(
    numbers(
      Type.Number(),
      "Rewards of single calls, by `request_id`. A call with its own reward is trained on as a separate attempt, and not as part of the rollout.",
    ),
    (rewards) => rewards as RolloutOutcome["callRewards"],
    {},
  ),
});

export const rolloutQuerySchema = Type.Object({
  ...pageQueryFields,
  state: Type.Optional(Type.Enum([...rolloutStates], { description: "Only rollouts in this state." })),
  group: Type.Optional(Type.String({ description: "Only rollouts of this group." })),
  split: Type.Optional(Type.String({ description: "Only rollouts of this split." })),
  version: Type.Optional(
    Type.Integer({
      minimum: 0,
      description:
        "Only rollouts that were created when this version was the newest, or that are pinned to it.",
    }),
  ),
});

const dateTime = Type.String({ format: "date-time" });
const count = (description: string) => Type.Integer({ minimum: 0, description });

export const rolloutRows = {
  rollout_id: [Type.String({ format: "uuid" }), ({ id }: Rollout) => id],
  model_id: Type.String({ format: "uuid" }),
  state: Type.Enum([...rolloutStates], {
    description:
      "State of the rollout. An `expired` rollout accepts no calls, but can still be finished until a job trains on it.",
  }),
  version: [
    Type.Integer({
      description:
        "Version that the request asked for; otherwise the newest version when the rollout was created.",
    }),
    ({ step }: Rollout) => step,
  ],
  follows_new_versions: [
    Type.Boolean({
      description:
        "True if the newest version at the time answers each call, false if `version` answers all calls.",
    }),
    ({ pinnedStep }: Rollout) => pinnedStep === null,
  ],
  last_version: [
    orNull(Type.Integer(), {
      description: "Newest version that answered a call; null before the first call.",
    }),
    ({ lastStep }: Rollout) => lastStep,
  ],
  task: [
    Type.Unknown({ description: "The task; null if there is none." }),
    ({ task }: Rollout): unknown => task,
  ],
  group: orNull(Type.String(), {
    description: "Group of the rollout; null if the rollouts of the same task form the group.",
  }),
  split: Type.String(),
  metadata: [anyObject, ({ metadata }: Rollout): object => metadata],
  created_at: dateTime,
  expires_at: dateTime,
  ended_at: orNull(dateTime, { description: "Time at which the rollout ended; null while it is open." }),
  reward: [
    orNull(Type.Number(), { description: "Reward; null unless the rollout is finished." }),
    ({ outcome }: Rollout) => outcome?.reward ?? null,
  ],
  metrics: [
    orNull(anyObject, { description: "Metrics; null unless the rollout is finished." }),
    ({ outcome }: Rollout): object | null => outcome && outcome.metrics,
  ],
  call_rewards: [
    orNull(anyObject, { description: "Rewards of single calls; null unless the rollout is finished." }),
    ({ outcome }: Rollout): object | null => outcome && outcome.callRewards,
  ],
  call_count: count("Number of calls that have been answered."),
  token_count: count("Number of prompt and answer tokens of all calls."),
  job_id: orNull(Type.String({ format: "uuid" }), {
    description:
      "Job that trains or has trained on the rollout. Null if there is no such job, or if it failed or was cancelled.",
  }),
} as const;

export const rolloutAnswer = answerOf<Rollout>()("Rollout", rolloutRows);

/** A new rollout, with the data that an agent needs to call the rollout's model. */
export interface CreatedRollout extends Rollout {
  readonly model: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly anthropicBaseUrl: string;
}

export const createdRolloutAnswer = answerOf<CreatedRollout>()("CreatedRollout", {
  ...rolloutRows,
  model: Type.String({
    description: "Name of the model. It answers all calls of the rollout, even if they name another model.",
  }),
  api_key: Type.String({
    description:
      "Key of the rollout, which no other answer contains. It permits only calls of the rollout's model, and only while the rollout is open. These calls belong to the rollout.",
  }),
  base_url: Type.String({
    description:
      "Base URL for OpenAI's clients. Every call below it belongs to the rollout, even with another key than `api_key`. That key needs access to the model.",
  }),
  anthropic_base_url: Type.String({ description: "Base URL for Anthropic's clients." }),
});
