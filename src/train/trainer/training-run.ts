// Description of one run, which the parent sends to the training process after writing the training data.
import { join } from "node:path";
import { jobKey, type ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { JobAssignment, JobKind, JobRun, JobTask } from "../../base/domain/job.ts";
import { adapterFolderOf } from "../../base/domain/model.ts";

export interface TrainingRun extends RunPlaces {
  /** Hash of the job's content. It determines the values of a model's first adapter and the order of the steps. */
  readonly seed: string;
  readonly task: JobTask;
  /** Number of groups or conversations in the file {@link linesFileOf}. */
  readonly lineCount: number;
  /** Version from which the run continues; null for the base model. */
  readonly from: StartVersion | null;
  /** Hex SHA-256 of the adapter of `from`; null for the base model, or if it was not recorded. */
  readonly fromHash: string | null;
  /** Number of the version from which the run continues. */
  readonly startStep: number;
  /** Kind of the job that made the version `from`; null if no job made it. */
  readonly fromKind: JobKind | null;
  /** Number of steps, counted from the first, that earlier attempts have durably reported. */
  readonly reportedStepCount: number;
}

export interface RunPlaces {
  /** Artifact key of the resulting adapter. An adapter that a lost attempt left there is replaced. */
  readonly adapterFolder: string;
  /** Folder in which all attempts at this job keep their progress. */
  readonly workFolder: string;
  /** Id under which the trainer knows the run; also the prefix of the keys of the run's states. */
  readonly runKey: string;
}

/** A version from which training continues. */
export interface StartVersion {
  /** Artifact key of the folder that contains the adapter in the PEFT layout. */
  readonly adapterFolder: string;
  /** Key of the trainer's state, prefixed with the name of the trainer that keeps it; null if there is no state. */
  readonly trainerState: string | null;
}

/**
 * Returns the artifact key of a job's result. A replay makes no version, so its result is in the job's work folder and
 * is removed with that folder.
 */
export function resultFolderOf({ job, model, pins, replay }: JobAssignment): string {
  return replay === null
    ? adapterFolderOf(model.id, pins.resultStep)
    : replayedFolder(job.id, pins.resultStep);
}

/**
 * Returns the keys and folders of a run, which is either the assignment's own job or an earlier job that a replay
 * repeats.
 */
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

/** Returns the path of the file with a run's training data: JSON, one group or conversation per line. */
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
