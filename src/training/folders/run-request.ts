// Where in the data folder a job works and what it makes, and what its process is asked to do.
import { join } from "node:path";
import type { JobAssignment, TrainingRun } from "../../domain/job.ts";
import { adapterFolderOf } from "../../domain/model.ts";
import type { RunDescription, RunRequest } from "../child-protocol.ts";

/** A run whose lines are not written yet. */
export type RequestedRun = Omit<RunDescription, "lineCount">;

/** What a process is asked to do, but for the lines. */
export interface RequestedRuns extends RequestedRun, Pick<RunRequest, "comparedWith"> {
  readonly earlier: readonly RequestedRun[];
}

/** What attempts at a job work with and keep for each other, relative to the data folder. */
export function workFolderOf(jobId: string): string {
  return join("jobs", jobId);
}

/** Where what a job makes goes, relative to the data folder. A replay makes no version: its result goes with its work. */
export function resultFolderOf({ job, model, pins, replay }: JobAssignment): string {
  return replay === null
    ? adapterFolderOf(model.id, pins.resultStep)
    : replayedFolder(workFolderOf(job.id), pins.resultStep);
}

export function requestOf(assignment: JobAssignment, dataFolder: string): RequestedRuns {
  const { job, replay } = assignment;
  const workFolder = workFolderOf(job.id);
  const folders = { workFolder, adapterFolder: resultFolderOf(assignment) };
  const linesFile = join(dataFolder, workFolder, "lines.jsonl");
  const reportedStepCount = job.progress?.gradientStepCount ?? 0;
  return {
    ...descriptionOf(job.id, assignment, { ...folders, linesFile, reportedStepCount }),
    earlier: (replay?.earlier ?? []).map((run) => {
      const { resultStep } = run.pins;
      return descriptionOf(job.id, run, {
        workFolder: join(workFolder, `work-${resultStep}`),
        adapterFolder: replayedFolder(workFolder, resultStep),
        linesFile: join(dataFolder, workFolder, `lines-${resultStep}.jsonl`),
        reportedStepCount: 0,
      });
    }),
    comparedWith: replay?.version.adapterFolder ?? null,
  };
}

function replayedFolder(workFolder: string, step: number): string {
  return join(workFolder, `version-${step}`);
}

function descriptionOf(
  jobId: string,
  { job, from, fromKind, pins }: TrainingRun,
  places: Pick<RunDescription, "workFolder" | "adapterFolder" | "linesFile" | "reportedStepCount">,
): RequestedRun {
  const { adapterFolder, trainerState, adapterHash } = from;
  return {
    jobId,
    seed: pins.seed,
    task: job.task,
    from: adapterFolder === null ? null : { adapterFolder, trainerState },
    fromHash: adapterHash,
    fromKind,
    startStep: pins.startStep,
    ...places,
  };
}
