// Assigns inputs to a job attempt: the model version from which it starts, and the job's pins. Pins are inputs that
// must not change between attempts; the first attempt fixes them.
import { createHash } from "node:crypto";
import type { JobAssignment, JobPins, TrainingJob } from "../../base/domain/job.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import { planReplay } from "./replay.ts";
import type { JobSettings } from "./settings.ts";
import { trainingKindOf } from "./new-job.ts";

/**
 * Returns the inputs of an attempt at the job; null if the model and its jobs were deleted.
 *
 * @throws AttemptFailure if the job itself cannot run
 */
export async function assign(
  dependencies: AttemptDependencies,
  settings: Pick<JobSettings, "replayJobsMax">,
  job: TrainingJob,
): Promise<JobAssignment | null> {
  const { models } = dependencies;
  const model = await models.find(job.modelId);
  if (model === null) return null;
  if (job.replayOf !== null)
    return wrapRunnerErrors(() => planReplay(dependencies, settings, { job, model }));
  const pins = job.pins ?? (await pin(dependencies, job, model));
  if (pins === null) return null;
  const from = await models.findVersion(model.id, pins.startStep);
  if (from !== null)
    return { job, model, from, fromKind: await trainingKindOf(dependencies, from), pins, replay: null };
  const message = `Version ${pins.startStep}, which this job started from, was deleted; send the job again.`;
  throw new AttemptFailure(new ServiceError({ code: "not_found", message }));
}

/** Returns the job's pins (inputs that stay the same for all attempts); null if the model was deleted. */
async function pin(
  { jobs, models, runner, owner }: AttemptDependencies,
  { id, contentHash, task }: TrainingJob,
  model: TrainedModel,
): Promise<JobPins | null> {
  const newest = await models.newestVersion(model.id);
  if (newest === null) return null;
  const startStep = newest.step;
  return jobs.pin(id, owner, {
    startStep,
    resultStep: (await models.greatestStep(model.id)) + 1,
    ...(await wrapRunnerErrors(() => runner.pinsFor(model, newest, task))),
    seed: createHash("sha256")
      .update(JSON.stringify([contentHash, startStep]))
      .digest("hex"),
    hasTrainerState: newest.trainerState !== null,
  });
}

/** A failure that the job itself causes. An unreachable store, for example, is not such a failure. */
export class AttemptFailure extends Error {
  constructor(cause: unknown) {
    super("The attempt failed.", { cause });
  }
}

/**
 * Runs `work`. Converts each error that `work` throws to an `AttemptFailure`, so that the job fails instead of being
 * retried.
 *
 * @throws AttemptFailure for anything that `work` throws
 */
export async function wrapRunnerErrors<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    throw new AttemptFailure(error);
  }
}
