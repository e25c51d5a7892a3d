// Finds the versions that a fine-tuning job has made.
import type { FineTuningJob } from "../../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { checkpointBody } from "../../../wire/fine-tuning/checkpoints.ts";
import type { HttpDependencies } from "../../dependencies.ts";

/** Returns the checkpoints of a job, oldest first, without versions that were deleted. */
export async function checkpointsOf(
  job: FineTuningJob,
  dependencies: Pick<HttpDependencies, "jobs" | "versions">,
): Promise<readonly { readonly id: string }[]> {
  const made = job.progress === null ? await versionOfTraining(job, dependencies) : versionsOfSteps(job);
  const checkpoints: { readonly id: string }[] = [];
  for (const { version, stepNumber } of made) {
    const found = await dependencies.versions.findVersion(job.modelId, version);
    if (found !== null) checkpoints.push(checkpointBody(job, found, stepNumber));
  }
  return checkpoints;
}

interface MadeVersion {
  readonly version: number;
  /** Number of steps after which the job made the version. */
  readonly stepNumber: number;
}

async function versionOfTraining(
  { trainingJobId }: FineTuningJob,
  { jobs }: Pick<HttpDependencies, "jobs">,
): Promise<readonly MadeVersion[]> {
  const training = trainingJobId === null ? null : await jobs.find(trainingJobId);
  if (training === null || training.state !== "succeeded" || training.resultStep === null) return [];
  return [{ version: training.resultStep, stepNumber: training.counts?.steps?.count ?? 0 }];
}

function versionsOfSteps({ progress }: FineTuningJob): readonly MadeVersion[] {
  return (progress?.steps ?? []).flatMap(({ version }, index) =>
    version === null ? [] : [{ version, stepNumber: index + 1 }],
  );
}
