// Runs the validation tasks with a version, logs the results, and pins the best version so that the server keeps it.
import type { RequestOptions } from "../connection.ts";
import { HoneError } from "../hone-error.ts";
import type { Model } from "../trained-model.ts";
import { toTrajectoryGroup } from "./groups.ts";
import { withValidation, type Best, type Progress } from "./progress.ts";
import { mean, type Validation } from "./round-report.ts";
import type { RoundRun } from "./run-round.ts";
import { runGroups } from "./run-groups.ts";
import { seedOf } from "./seeds.ts";

/**
 * Validates a version, and returns the result and the run's progress after it.
 *
 * @throws HoneError `rollouts_failed`, or the server's refusal; the signal's reason
 */
export async function validate<Task>(
  run: RoundRun<Task>,
  { round, step }: { readonly round: number; readonly step: number },
  progress: Progress,
): Promise<{ readonly validation: Validation; readonly progress: Progress }> {
  const { model, options, maker, roundMetric, emit } = run;
  const { validation } = options;
  if (validation === undefined) throw new Error("validations are asked for where there are tasks for them");
  const { tasks, tries: size = 1, request = options.request } = validation;
  emit({ type: "rollouts-started", of: "validation", round, step, total: tasks.length * size });
  // Every version is validated with the same seed, so that their results are comparable.
  const seed = seedOf(options.seed, "validation");
  const groups = await runGroups(maker, { tasks, size, step, seed, request, trainedIn: null });
  const rewards = groups.flatMap(({ rollouts }) => rollouts.map((rollout) => rollout.reward));
  if (rewards.length === 0)
    throw new HoneError({ code: "rollouts_failed", message: "All rollouts of a validation failed." });
  const validated: Best = { step, reward: mean(rewards) };
  const { signal } = maker;
  const { metrics } = await model.log(
    groups.map((group) => toTrajectoryGroup(group, { roundMetric, round })),
    { split: "val", signal },
  );
  const next = withValidation(progress, validated, validation);
  const isBest = next.best === validated;
  if (isBest) await pinBest(model, validated.step, progress.best, { signal });
  return { validation: { ...validated, isBest, metrics }, progress: next };
}

/** Pins the new best version and unpins the previous one. */
async function pinBest(
  { hone, id }: Model,
  step: number,
  before: Best | null,
  options: RequestOptions,
): Promise<void> {
  // The initial version (step 0) always exists and needs no pin.
  if (step > 0) await hone.checkpoints.pin(id, step, options);
  if (before === null || before.step === 0 || before.step === step) return;
  await hone.checkpoints.unpin(id, before.step, options).catch((error: unknown) => {
    // If the previous best version has been deleted, it needs no unpinning.
    if (!(error instanceof HoneError && error.status === 404)) throw error;
  });
}
