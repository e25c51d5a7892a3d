// Plans the replay of a succeeded job, whose result is then compared with the original version. Finds the jobs to
// repeat, and checks that everything they need still exists. Trains nothing itself.
import { isDeepStrictEqual } from "node:util";
import { dataRemoved, type JobAssignment, type JobRun, type TrainingJob } from "../../base/domain/job.ts";
import type { ModelVersion, TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json, JsonObject } from "../../base/domain/text/json.ts";
import type { AttemptDependencies } from "./attempt-dependencies.ts";
import type { JobSettings } from "./settings.ts";
import { trainingKindOf } from "./new-job.ts";

type ReplayDependencies = Pick<AttemptDependencies, "jobs" | "models" | "runner">;

/**
 * Plans the replay of a succeeded job.
 *
 * @throws ServiceError `conflict` with the reason why the job cannot be repeated
 */
export async function planReplay(
  dependencies: ReplayDependencies,
  settings: Pick<JobSettings, "replayJobsMax">,
  { job, model }: { readonly job: TrainingJob; readonly model: TrainedModel },
): Promise<JobAssignment> {
  const repeated = job.replayOf === null ? null : await dependencies.jobs.find(job.replayOf);
  if (repeated === null) throw refusal("The job that this one was to repeat is gone.");
  const { earlier, run, version } = await repetitionOf(dependencies, settings, { job: repeated, model });
  return { ...run, job, model, replay: { version, earlier } };
}

/**
 * Checks that a job can be repeated.
 *
 * @throws ServiceError as {@link planReplay}; `unavailable` if the base model is not served
 */
export async function requireRepeatable(
  dependencies: ReplayDependencies,
  settings: Pick<JobSettings, "replayJobsMax">,
  subject: { readonly job: TrainingJob; readonly model: TrainedModel },
): Promise<void> {
  await repetitionOf(dependencies, settings, subject);
}

interface Repetition {
  readonly run: JobRun;
  readonly version: ModelVersion;
  readonly earlier: readonly JobRun[];
}

async function repetitionOf(
  dependencies: ReplayDependencies,
  { replayJobsMax }: Pick<JobSettings, "replayJobsMax">,
  { job, model }: { readonly job: TrainingJob; readonly model: TrainedModel },
): Promise<Repetition> {
  const { jobs, models } = dependencies;
  const { trainer } = dependencies.runner;
  if (!trainer.isRepeatable)
    throw refusal(`The trainer of this server, ${trainer.name}, does not give the same bytes again.`);
  if (job.replayOf !== null)
    throw refusal(`It is a replay itself; replay ${job.replayOf}, which it repeated.`);
  if (job.state !== "succeeded")
    throw refusal(`Only a job that succeeded can be replayed; it is ${job.state}.`);
  const version = await models.findVersion(model.id, job.resultStep ?? -1);
  if (version === null)
    throw refusal(`Version ${job.resultStep}, which it made, was deleted: there is nothing to compare with.`);
  const runs = [await runOf(dependencies, job, model)];
  while (needsOptimizer(runs[0])) {
    if (runs.length > replayJobsMax) throw refusal(tooManyJobs(replayJobsMax));
    const { from } = runs[0];
    const maker = from.jobId === null ? null : await jobs.find(from.jobId);
    if (maker === null)
      throw refusal(
        `The optimizer's state of version ${from.step} is not kept, and the job that made it is gone.`,
      );
    runs.unshift(await runOf(dependencies, maker, model));
  }
  await requireSameMachinery(dependencies, model, runs);
  return { version, earlier: runs.slice(0, -1), run: runs[runs.length - 1] };
}

function tooManyJobs(max: number): string {
  return (
    `It went on from the optimizers of more than ${max} jobs before it, which would have to be repeated too, since their ` +
    "states are not kept."
  );
}

async function runOf(
  dependencies: ReplayDependencies,
  job: TrainingJob,
  model: TrainedModel,
): Promise<JobRun> {
  const { pins, dataRemovedAt, id } = job;
  if (dataRemovedAt !== null) throw refusal(dataRemoved(id, dataRemovedAt).message);
  if (pins === null)
    throw refusal("It was made by a version of this program that did not record what it went by.");
  const from = await dependencies.models.findVersion(model.id, pins.startStep);
  if (from === null) throw refusal(`Version ${pins.startStep}, which it started from, was deleted.`);
  const fromKind = await trainingKindOf(dependencies, from);
  return { job, pins, fromKind, from: pins.hasTrainerState ? from : { ...from, trainerState: null } };
}

/**
 * True if a run started with an optimizer state that is no longer stored. There was no such state if the run started
 * from the base model, or from a version trained by another kind of job.
 */
function needsOptimizer({ from, fromKind, job, pins }: JobRun): boolean {
  const hadOptimizer = from.adapterFolder !== null && fromKind === job.task.kind;
  return hadOptimizer && pins.hasTrainerState && from.trainerState === null;
}

/**
 * Requires the same build of Hone and the same base model as the original job had. Another build or base model could
 * give a different result.
 */
async function requireSameMachinery(
  { runner }: ReplayDependencies,
  model: TrainedModel,
  runs: readonly JobRun[],
): Promise<void> {
  const now = await runner.pinsFor(model, runs[0].from, runs[0].job.task);
  for (const { pins } of runs) {
    const version = `Version ${pins.resultStep} was`;
    if (pins.trainerBuild !== now.trainerBuild)
      throw refusal(
        `${version} made by ${pins.trainerBuild}, and this server trains with ${now.trainerBuild}.`,
      );
    if (pins.baseHash !== now.baseHash)
      throw refusal(`${version} trained over other files of the base model ${model.baseModel}.`);
    const different = differencesOf(pins.settings, runs[0].pins.settings);
    if (different.length > 0)
      throw refusal(
        `${version} trained with other settings than version ${runs[0].pins.resultStep}, whose job would have to be ` +
          `repeated with it: ${different.join(", ")}.`,
      );
  }
}

/** Returns a text for each setting that differs between `settings` and `first`, with its name and both values. */
function differencesOf(settings: JsonObject, first: JsonObject): readonly string[] {
  const names = [...new Set([...Object.keys(settings), ...Object.keys(first)])];
  const shown = (value: Json | undefined): string => JSON.stringify(value ?? null);
  return names
    .filter((name) => !isDeepStrictEqual(settings[name], first[name]))
    .map((name) => `training.${name} ${shown(settings[name])}, there ${shown(first[name])}`);
}

function refusal(reason: string): ServiceError {
  return new ServiceError({ code: "conflict", message: `This job cannot be replayed. ${reason}` });
}
