// Messages between a training process and its parent. They refer to training data by file, because large messages are
// slow.
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { PlacedArtifacts } from "../../store/artifacts/artifact-place.ts";
import type { AttemptEvent, JobOutcome } from "../../base/domain/job.ts";
import type { Failure } from "../../base/processes/serialized-error.ts";
import type { DifferenceMemory } from "./steps/base-precision.ts";
import type { JobSettings } from "./settings.ts";
import type { TrainerElsewhere } from "./tinker/trainer-address.ts";
import type { TrainerProvider } from "./trainer.ts";
import type { TrainingRun } from "./training-run.ts";

/** Base model and settings of a training process, which never change while it lives. */
export interface TrainingLoad {
  readonly baseModel: {
    readonly name: string;
    readonly folder: string;
    /** Hex SHA-256 of the base model's weights. A process that loaded other weights cannot be reused. */
    readonly weights: string;
    /**
     * True if the chat format writes tool definitions as text into the system message. All attempts at a job use the
     * same value.
     */
    readonly toolsAsText: boolean;
  };
  readonly settings: JobSettings;
  /** The remote trainer to use; null to train on this machine. */
  readonly elsewhere: TrainerElsewhere | null;
  readonly artifacts: PlacedArtifacts["place"];
  /** Folder in which the process caches converted weights. */
  readonly cacheFolder: string;
}

/** The part of an artifact store that trainers need for their states. */
export type StateStore = Pick<ArtifactStore, "path" | "putFile" | "remove">;

/** The trainers that a training process has loaded. */
export interface LoadedTrainers {
  readonly trainers: TrainerProvider;
  /**
   * Checks, before each job, that this machine can compute with the settings that were fixed when the job began.
   *
   * @throws ServiceError `unsupported` if it cannot
   */
  readonly requireAble: () => Promise<void>;
  /** Remembers how much the rounding of a quantized base model changes its log-probabilities; absent for float32. */
  readonly differences?: DifferenceMemory;
  /** Frees the memory of all trainers that no job is using. */
  readonly free: () => Promise<void>;
}

/** Request to the training process to run one job. The parent sends the next request only after this job has ended. */
export interface RunRequest {
  readonly kind: "run";
  /**
   * Runs to execute in order; each starts from the result of the previous one. A replay may first repeat earlier jobs.
   * Only the last run, which is the requested job, reports events.
   */
  readonly runs: readonly TrainingRun[];
  /** Key of the stored adapter with which the job's result is compared; null to compare nothing. */
  readonly comparedWith: string | null;
}

/**
 * Answer to a training process that asked whether its job still belongs to this server. If the job does not, the parent
 * ends the process instead of answering.
 */
export interface JobIsOwned {
  readonly kind: "job-is-owned";
}

export type TrainingEvent =
  | AttemptEvent
  /** Heartbeat, which only says that the process makes progress. */
  | { readonly kind: "alive" }
  | { readonly kind: "finished"; readonly outcome: JobOutcome }
  | { readonly kind: "failed"; readonly failure: Failure };

/** An event, and the resident memory in bytes of the process that sends it. */
export type MeasuredEvent = TrainingEvent & { readonly heldBytes: number };

export interface TrainingProtocol {
  readonly load: TrainingLoad;
  readonly ready: null;
  readonly request: RunRequest | JobIsOwned;
  readonly event: MeasuredEvent;
}
