// One run of a job, as sent to the training process. The parent creates it after writing the training data.
import { join } from "node:path";
import { jobKey, type ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { JobAssignment, JobKind, JobRun, JobTask } from "../../base/domain/job.ts";
import { adapterFolderOf } from "../../base/domain/model.ts";

export interface TrainingRun extends RunPlaces {
  /** Hash of the job's content; decides the first adapter of a model and the order of the steps. */
  readonly seed: string;
  readonly task: JobTask;
  /** Number of groups or conversations in {@link linesFileOf}. */
  readonly lineCount: number;
  /** Version to continue from; null for the base model. */
  readonly from: StartVersion | null;
  /** Hex SHA-256 of that version's adapter; null if not recorded, and for the base model. */
  readonly fromHash: string | null;
  /** Number of that version. */
  readonly startStep: number;
  /** Kind of the job that made that version; null if no job made it. */
  readonly fromKind: JobKind | null;
  /** Number of steps, from the first, that earlier attempts have durably reported. */
  readonly reportedStepCount: number;
}

export interface RunPlaces {
  /** Key of the result, which replaces the result of a lost attempt. */
  readonly adapterFolder: string;
  /** Folder in which attempts at this job keep their progress. */
  readonly workFolder: string;
  /** Name of the run at its trainer, and key prefix of its states. */
  readonly runKey: string;
}

/** A version that training continues from. */
export interface StartVersion {
  /** Key of the adapter's PEFT folder. */
  readonly adapterFolder: string;
  /** The trainer's state as stored, prefixed with the name of the trainer that keeps it. */
  readonly trainerState: string | null;
}

/** Returns the key of a job's result. A replay has no version: its result is removed with its work folder. */
export function resultFolderOf({ job, model, pins, replay }: JobAssignment): string {
  return replay === null
    ? adapterFolderOf(model.id, pins.resultStep)
    : replayedFolder(job.id, pins.resultStep);
}

/** Returns the places of an assignment's run: its own, or an earlier one that a replay repeats. */
export function placesOf(
  assignment: JobAssignment,
  run: JobRun,
  folder: Pick<ServerFolder, "jobFolder">,
): RunPlaces {
  const { id } = assignment.job;
  const workFolder = folder.jobFolder(id);
  const runKey = jobKey(id);
  if (run === assignment) return { workFolder, runKey, adapterFolder: resultFolderOf(assignment) };
  const { resultStep } = run.pins;
  const name = `work-${resultStep}`;
  return {
    workFolder: join(workFolder, name),
    runKey: `${runKey}/${name}`,
    adapterFolder: replayedFolder(id, resultStep),
  };
}

function replayedFolder(jobId: string, step: number): string {
  return `${jobKey(jobId)}/version-${step}`;
}

/** Returns the file of a run's training data: JSON, one group or conversation per line. */
export function linesFileOf({ workFolder }: RunPlaces): string {
  return join(workFolder, "lines.jsonl");
}

export function trainingRunOf(
  { job, from, fromKind, pins }: JobRun,
  places: RunPlaces,
  counts: Pick<TrainingRun, "lineCount" | "reportedStepCount">,
): TrainingRun {
  const { adapterFolder, trainerState, adapterHash } = from;
  return {
    seed: pins.seed,
    task: job.task,
    from: adapterFolder === null ? null : { adapterFolder, trainerState },
    fromHash: adapterHash,
    fromKind,
    startStep: pins.startStep,
    ...places,
    ...counts,
  };
}
