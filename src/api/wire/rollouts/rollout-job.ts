// API format of the fields that select rollouts in a request for a training job.
import { type Static, Type } from "typebox";
import type { RolloutChoice } from "../../../base/domain/rollouts/rollout.ts";
import { jobGroupsMax } from "../../../base/domain/rewards/stored-rule.ts";
import { versionAgeLimit } from "../../../base/domain/version-age.ts";
import { isUuid } from "../../../base/domain/random.ts";
import { type Findings, report } from "../../../base/validation/findings.ts";
import { nullable } from "../nullable.ts";

/** Maximum number of rollouts that a request may name. */
const idsMax = 10_000;

export const rolloutSelectionSchema = Type.Object(
  {
    finished: nullable(Type.Enum(["all"]), {
      default: "all",
      description: "`all`: every finished rollout that matches and on which no other job trains.",
    }),
    group: nullable(Type.String(), { description: "Only rollouts of this group. Null: all groups." }),
    split: nullable(Type.String(), { description: "Only rollouts of this split. Null: all splits." }),
    version: nullable(Type.Integer({ minimum: 0 }), {
      description: "Only rollouts whose `version` is this one. Null: all versions.",
    }),
    version_age_max: nullable(Type.Integer({ minimum: 0, maximum: versionAgeLimit }), {
      description:
        "Maximum age of a rollout: the number of versions by which its `version` may be older than the newest. Null: no limit.",
    }),
    whole_groups: Type.Optional(
      Type.Boolean({
        default: false,
        description:
          "Only groups in which no rollout is open and at least two rollouts match. Rollouts of other groups wait for a later job.",
      }),
    ),
    max_groups: nullable(Type.Integer({ minimum: 1, maximum: jobGroupsMax }), {
      default: 256,
      description: "Maximum number of groups in the job, the oldest first.",
    }),
  },
  { title: "RolloutSelection" },
);

/** Fields of a training job that select its rollouts. */
export const rolloutJobFields = {
  rollout_ids: nullable(Type.Array(Type.String({ format: "uuid" }), { minItems: 1, maxItems: idsMax }), {
    description:
      "Trains on these rollouts, instead of `trajectory_groups`. Each must be finished, and no other job may train on it.",
  }),
  rollouts: nullable(rolloutSelectionSchema, {
    description:
      "Trains on all rollouts that match these conditions, instead of `trajectory_groups`. Only one job trains on a rollout. If that job fails or is cancelled, the rollout is free for other jobs.",
  }),
  expired_reward: nullable(Type.Number(), {
    description: "Trains also on expired rollouts, with this reward. Null: expired rollouts are left out.",
  }),
};

interface Fields {
  readonly rollout_ids?: readonly string[] | null;
  readonly rollouts?: Static<typeof rolloutSelectionSchema> | null;
  readonly expired_reward?: number | null;
}

/** Rollouts that a request names for a job. */
export interface ReadRolloutSelection {
  readonly choice: Omit<RolloutChoice, "modelId" | "stepMin">;
  /** Maximum number of versions by which a rollout may be behind the newest version; null for no limit. */
  readonly versionAgeMax: number | null;
  readonly expiredReward: number | null;
  readonly groupsMax: number;
}

/** Adds faults for fields that contradict each other. The body is not checked yet. */
export function checkRolloutFields(body: Readonly<Record<string, unknown>>, findings: Findings): void {
  const sent = ["trajectory_groups", "rollout_ids", "rollouts"].filter(
    (name) => (body[name] ?? null) !== null,
  );
  if (sent.length === 0) report(findings, "missing", "Field required", "trajectory_groups");
  if (sent.length > 1) {
    const message = `Send only one of ${sent.join(" and ")}: a job trains on trajectories or on rollouts`;
    report(findings, "value_error", message, sent[1]);
  }
  if ((body["expired_reward"] ?? null) !== null && sent.includes("trajectory_groups"))
    report(findings, "value_error", "expired_reward applies only to rollouts", "expired_reward");
  const ids = body["rollout_ids"];
  const strange = Array.isArray(ids) ? ids.findIndex((id) => typeof id !== "string" || !isUuid(id)) : -1;
  if (strange !== -1)
    report(
      findings,
      "value_error",
      "Input should be the id of a rollout, a UUID",
      "rollout_ids",
      String(strange),
    );
}

/** Returns which rollouts a checked body selects; null if it selects none. */
export function rolloutSelectionOf({
  rollout_ids: ids = null,
  rollouts = null,
  expired_reward: expiredReward = null,
}: Fields): ReadRolloutSelection | null {
  if (ids === null && rollouts === null) return null;
  const { group = null, split = null, version: step = null, whole_groups: isWhole = false } = rollouts ?? {};
  return {
    choice: {
      ids: ids === null ? null : [...new Set(ids.map((id) => id.toLowerCase()))],
      group,
      split,
      step,
      includesExpired: expiredReward !== null,
      wholeSizeMin: isWhole ? 2 : null,
    },
    versionAgeMax: rollouts?.version_age_max ?? null,
    expiredReward,
    groupsMax: ids === null ? (rollouts?.max_groups ?? 256) : idsMax,
  };
}
