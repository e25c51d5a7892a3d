// Where a job works and what it makes, and what its process is asked to do.
import { join } from "node:path";
import { jobKey, type ServerFolder } from "../../../store/artifacts/server-folder.ts";
import type { JobAssignment, TrainingRun } from "../../../base/domain/job.ts";
import { adapterFolderOf } from "../../../base/domain/model.ts";
import type { RunDescription, RunRequest } from "../child-protocol.ts";

/** A run whose lines are not written yet. */
export type RequestedRun = Omit<RunDescription, "lineCount">;

/** What a process is asked to do, but for the lines. */
export interface RequestedRuns extends RequestedRun, Pick<RunRequest, "comparedWith"> {
  readonly earlier: readonly RequestedRun[];
}

/** The key of what a job makes. A replay makes no version: its result goes with its work. */
export function resultFolderOf({ job, model, pins, replay }: JobAssignment): string {
  return replay === null
    ? adapterFolderOf(model.id, pins.resultStep)
    : replayedFolder(job.id, pins.resultStep);
}

export function requestOf(assignment: JobAssignment, folder: Pick<ServerFolder, "jobFolder">): RequestedRuns {
  const { job, replay } = assignment;
  const workFolder = folder.jobFolder(job.id);
  const folders = { workFolder, runKey: jobKey(job.id), adapterFolder: resultFolderOf(assignment) };
  const linesFile = join(workFolder, "lines.jsonl");
  const reportedStepCount = job.progress?.gradientStepCount ?? 0;
  return {
    ...descriptionOf(job.id, assignment, { ...folders, linesFile, reportedStepCount }),
    earlier: (replay?.earlier ?? []).map((run) => {
      const { resultStep } = run.pins;
      return descriptionOf(job.id, run, {
        workFolder: join(workFolder, `work-${resultStep}`),
        runKey: `${jobKey(job.id)}/work-${resultStep}`,
        adapterFolder: replayedFolder(job.id, resultStep),
        linesFile: join(workFolder, `lines-${resultStep}.jsonl`),
        reportedStepCount: 0,
      });
    }),
    comparedWith: replay?.version.adapterFolder ?? null,
  };
}

function replayedFolder(jobId: string, step: number): string {
  return `${jobKey(jobId)}/version-${step}`;
}

function descriptionOf(
  jobId: string,
  { job, from, fromKind, pins }: TrainingRun,
  places: Pick<RunDescription, "workFolder" | "runKey" | "adapterFolder" | "linesFile" | "reportedStepCount">,
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
