// One run of a job's training, as its process gets it: filled once, by the parent, when what it trains on is written.
import { join } from "node:path";
import { jobKey, type ServerFolder } from "../../store/artifacts/server-folder.ts";
import type { JobAssignment, JobKind, JobRun, JobTask } from "../../base/domain/job.ts";
import { adapterFolderOf } from "../../base/domain/model.ts";

export interface TrainingRun extends RunPlaces {
  /** Of the job's content: decides the first adapter of a model and the order of the steps. */
  readonly seed: string;
  readonly task: JobTask;
  /** How many groups or conversations there are in {@link linesFileOf}. */
  readonly lineCount: number;
  /** The version to go on from; null for the base model. */
  readonly from: StartVersion | null;
  /** Hex SHA-256 of that version's adapter; null where it was not recorded, and for the base model. */
  readonly fromHash: string | null;
  /** That version's number. */
  readonly startStep: number;
  /** What kind of job made that version; null when none did. */
  readonly fromKind: JobKind | null;
  /** How many steps earlier attempts are known to have reported, the first ones. */
  readonly reportedStepCount: number;
}

export interface RunPlaces {
  /** The key of the result; replaced when a lost attempt left it. */
  readonly adapterFolder: string;
  /** Where attempts at this job keep what they have done. */
  readonly workFolder: string;
  /** What the run is called at its trainer, and the key that its states lie below. */
  readonly runKey: string;
}

/** A version that training goes on from. */
export interface StartVersion {
  /** The key of its PEFT folder. */
  readonly adapterFolder: string;
  /** As it is stored: with the name of the trainer that keeps it. */
  readonly trainerState: string | null;
}

/** The key of what a job makes. A replay makes no version: its result goes with its work. */
export function resultFolderOf({ job, model, pins, replay }: JobAssignment): string {
  return replay === null
    ? adapterFolderOf(model.id, pins.resultStep)
    : replayedFolder(job.id, pins.resultStep);
}

/** The places of a run of the assignment: of its own, or of one that a replay repeats first. */
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

/** What a run trains on, one group or conversation a line, as JSON. */
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
