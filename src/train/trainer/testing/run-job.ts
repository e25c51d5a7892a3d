// For tests: runs a job with a given trainer, and uses defaults for all values that the test does not set.
import { join } from "node:path";
import type { JobOutcome } from "../../../base/domain/job.ts";
import { runTrainingJob, type TrainingJobDependencies } from "../run-training-job.ts";
import { pinnedSettings, trainingSettings } from "../settings.ts";
import type { TrainingRun } from "../training-run.ts";

/** Values of a job that a test can set. */
export type JobInput = Partial<
  Omit<TrainingJobDependencies, GivenName> & Omit<TrainingRun, "task" | "lineCount" | "workFolder">
>;

type GivenName = "trainers" | "artifacts" | "tokenizer" | "report" | "clock" | "lines";

export function runJob(
  given: Pick<TrainingJobDependencies, GivenName> &
    Pick<TrainingRun, "task"> & { readonly dataFolder: string },
  input: JobInput = {},
): Promise<JobOutcome> {
  const { runKey = "jobs/job" } = input;
  const all = {
    seed: "seed",
    startStep: 0,
    lineCount: given.lines.count,
    settings: pinnedSettings(trainingSettings.with()),
    from: null,
    fromHash: null,
    base: "weights",
    fromKind: null,
    adapterFolder: "adapters/m/1",
    runKey,
    workFolder: join(given.dataFolder, runKey),
    snapshotShare: 0,
    reportedStepCount: 0,
    signal: new AbortController().signal,
    ...given,
    ...input,
  };
  return runTrainingJob(all, all);
}
