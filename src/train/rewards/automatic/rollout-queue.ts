// Runs rules that train a model on its rollouts: counts the groups that are ready, and creates the next job. The
// transaction that stores a job marks its rollouts, so that even after a crash no rollout is lost or trained on twice.
import type { RolloutChoice, RolloutStore } from "../../../base/domain/rollouts/rollout.ts";
import type {
  AutomaticHold,
  AutomaticOrder,
  AutomaticProgress,
  RuleStore,
} from "../../../base/domain/rewards/stored-rule.ts";
import { oldestStep } from "../../../base/domain/version-age.ts";
import {
  createRolloutJob,
  type RolloutJobDependencies,
  type SubmitJob,
} from "../../rollouts/rollout-jobs.ts";
import { dayMs } from "./automatic-state.ts";

export interface ProgressDependencies extends Pick<RolloutJobDependencies, "clock" | "models"> {
  readonly rules: Pick<RuleStore, "progress">;
  readonly rollouts: Pick<RolloutStore, "countGroups">;
}

/** Returns the progress of an automatic rule, which trains on feedback or rollouts; null if there is no such rule. */
export async function ruleProgress(
  { rules, rollouts, models, clock }: ProgressDependencies,
  ruleId: string,
  order: AutomaticOrder,
): Promise<AutomaticProgress | null> {
  const now = clock.now();
  const progress = await rules.progress(ruleId, new Date(now.getTime() - dayMs));
  const choice = rolloutChoice(order);
  if (progress === null || choice === null) return progress;
  const newest = order.versionAgeMax === null ? null : await models.newestVersion(order.modelId);
  const stepMin = oldestStep(newest?.step ?? 0, order.versionAgeMax);
  const { all, whole } = await rollouts.countGroups({ ...choice, stepMin }, now);
  return { ...progress, readyCount: whole, unreadyCount: all - whole };
}

/**
 * Creates the next job of a rule that trains on rollouts.
 *
 * @returns the job's id; null if there is nothing to train on
 * @throws ServiceError as {@link createRolloutJob}
 */
export async function createQueuedJob(
  dependencies: RolloutJobDependencies & { readonly submit: SubmitJob },
  hold: AutomaticHold,
  order: AutomaticOrder,
  tokensMax: number,
): Promise<string | null> {
  const choice = rolloutChoice(order);
  if (choice === null) return null;
  const { versionAgeMax, groupsMax, config } = order;
  const identity = { task: { kind: "rl", config }, configNotApplied: [], warnings: [] } as const;
  const request = { choice, versionAgeMax, expiredReward: null, groupsMax };
  return createRolloutJob(dependencies, request, identity, dependencies.submit, { hold, tokensMax });
}

function rolloutChoice({ rollouts, modelId }: AutomaticOrder): Omit<RolloutChoice, "stepMin"> | null {
  if (rollouts === null) return null;
  const { split, groupSizeMin: wholeSizeMin } = rollouts;
  return { modelId, ids: null, group: null, split, step: null, includesExpired: false, wholeSizeMin };
}
