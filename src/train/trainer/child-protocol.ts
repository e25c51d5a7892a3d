// Messages between a training process and its parent. The training data is passed in a file, since large messages are
// slow.
import type { PlacedArtifacts } from "../../store/artifacts/artifact-place.ts";
import type { AttemptEvent, JobOutcome } from "../../base/domain/job.ts";
import type { Failure } from "../../base/processes/serialized-error.ts";
import type { JobSettings } from "./settings.ts";
import type { TrainerElsewhere } from "./tinker/trainer-address.ts";
import type { TrainerProvider } from "./trainer.ts";
import type { TrainingRun } from "./training-run.ts";

/** Properties that are fixed for the life of a process: its base model and its settings. */
export interface TrainingLoad {
  readonly baseModel: {
    readonly name: string;
    readonly folder: string;
    /** Hex SHA-256 of the base model's weights. A process that has loaded other weights cannot be reused. */
    readonly weights: string;
    /** True if the model's tools are rendered as text of the system message. The job is pinned to this. */
    readonly toolsAsText: boolean;
  };
  readonly settings: JobSettings;
  /** The remote trainer; null if this machine trains. */
  readonly elsewhere: TrainerElsewhere | null;
  readonly artifacts: PlacedArtifacts["place"];
  /** Folder of the converted weights. */
  readonly cacheFolder: string;
}

/** The trainers that a process has loaded. */
export interface LoadedTrainers {
  readonly trainers: TrainerProvider;
  /**
   * Called before each job.
   * @throws ServiceError `unsupported` if this machine cannot compute with the settings to which the job is pinned
   */
  readonly requireAble: () => Promise<void>;
  /** Frees the resources of all trainers that are not open. */
  readonly free: () => Promise<void>;
}

/** Request to run one job. The parent sends the next request after this job has ended. */
export interface RunRequest {
  readonly kind: "run";
  /**
   * The runs to execute, one after the other; each starts from the result of the previous one. A replay may first
   * repeat earlier jobs. Only the last run, which is the job itself, reports events.
   */
  readonly runs: readonly TrainingRun[];
  /** Key of the adapter with which the result is compared; null for no comparison. */
  readonly comparedWith: string | null;
}

/**
 * Answer to a process that asked if its job still belongs to this server. If it does not, the parent ends the process
 * instead of answering.
 */
export interface JobIsOwned {
  readonly kind: "job-is-owned";
}

export type TrainingEvent =
  | AttemptEvent
  /** Heartbeat: signals only that there is progress. */
  | { readonly kind: "alive" }
  | { readonly kind: "finished"; readonly outcome: JobOutcome }
  | { readonly kind: "failed"; readonly failure: Failure };

/** An event with the resident memory of the process that sends it. */
export type MeasuredEvent = TrainingEvent & { readonly heldBytes: number };

export interface TrainingProtocol {
  readonly load: TrainingLoad;
  readonly ready: null;
  readonly request: RunRequest | JobIsOwned;
  readonly event: MeasuredEvent;
}
