// What a training process and its parent say to each other. Trajectories go through a file: large messages are slow.
import type { PlacedArtifacts } from "../../store/artifacts/artifact-place.ts";
import type { AttemptEvent, JobKind, JobOutcome, JobTask } from "../../base/domain/job.ts";
import type { Failure } from "../../base/processes/carried-error.ts";
import type { JobSettings } from "./settings.ts";
import type { StartVersion } from "./run-training-job.ts";
import type { TrainerElsewhere } from "./tinker/trainer-address.ts";
import type { TrainerProvider } from "./trainer.ts";

/** What holds for every job of a process: it works for one base model, with one set of settings. */
export interface TrainingLoad {
  readonly baseModel: {
    readonly name: string;
    readonly folder: string;
    /** Hex SHA-256 of its weights: a process that has loaded others is none for these. */
    readonly weights: string;
    /** Whether tools are shown in the system message, as the job's pins have it. */
    readonly toolsAsText: boolean;
  };
  readonly settings: JobSettings;
  /** The trainer that computes in place of this machine; null where the process does. */
  readonly elsewhere: TrainerElsewhere | null;
  readonly artifacts: PlacedArtifacts["place"];
  /** Where converted weights lie. */
  readonly cacheFolder: string;
}

/** What a process trains with. */
export interface LoadedTrainers {
  readonly trainers: TrainerProvider;
  /** Before each job. @throws ServiceError `unsupported` where this machine cannot do what jobs are pinned to */
  readonly requireAble: () => Promise<void>;
  /** Frees what the trainers hold beside open ones. */
  readonly free: () => Promise<void>;
}

/** One job; the next one comes when it has ended. */
export interface RunRequest extends RunDescription {
  readonly kind: "run";
  /** Runs that come first, of which nothing is reported: each goes on from the result of the one before, as this one does. */
  readonly earlier: readonly RunDescription[];
  /** The key of a version's adapter that the result is compared with; null where there is none. */
  readonly comparedWith: string | null;
}

/** The answer to a process that asks for its job; one whose job is another server's is ended instead. */
export interface JobIsOwned {
  readonly kind: "job-is-owned";
}

export interface RunDescription {
  readonly jobId: string;
  /** Of the job's content; see the job's pins. */
  readonly seed: string;
  readonly task: JobTask;
  /** What it trains on, one group or conversation a line, as JSON. */
  readonly linesFile: string;
  /** How many lines those are. */
  readonly lineCount: number;
  /** The version to go on from; null for the base model. */
  readonly from: StartVersion | null;
  /** Hex SHA-256 of that version's adapter; null where it was not recorded, and for the base model. */
  readonly fromHash: string | null;
  /** That version's number. */
  readonly startStep: number;
  /** What kind of job made that version; null when none did. */
  readonly fromKind: JobKind | null;
  /** The key of the result. */
  readonly adapterFolder: string;
  /** Where attempts at this job keep what they have done. */
  readonly workFolder: string;
  /** What the run is called at its trainer: the key that its states lie below. */
  readonly runKey: string;
  /** How many steps earlier attempts are known to have reported. */
  readonly reportedStepCount: number;
}

export type TrainingEvent =
  | AttemptEvent
  /** Nothing but that there is progress. */
  | { readonly kind: "alive" }
  | { readonly kind: "finished"; readonly outcome: JobOutcome }
  | { readonly kind: "failed"; readonly failure: Failure };

/** With the resident memory of the process that says it. */
export type MeasuredEvent = TrainingEvent & { readonly heldBytes: number };

export interface TrainingProtocol {
  readonly load: TrainingLoad;
  readonly ready: null;
  readonly request: RunRequest | JobIsOwned;
  readonly event: MeasuredEvent;
}
