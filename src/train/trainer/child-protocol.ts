// What a training process and its parent say to each other. Trajectories go through a file: large messages are slow.
import type { PlacedArtifacts } from "../../store/artifacts/artifact-place.ts";
import type { AttemptEvent, JobOutcome } from "../../base/domain/job.ts";
import type { Failure } from "../../base/processes/carried-error.ts";
import type { JobSettings } from "./settings.ts";
import type { TrainerElsewhere } from "./tinker/trainer-address.ts";
import type { TrainerProvider } from "./trainer.ts";
import type { TrainingRun } from "./training-run.ts";

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
export interface RunRequest {
  readonly kind: "run";
  /** The job's own is the last. Of those before it nothing is reported: each run goes on from the result of the one before. */
  readonly runs: readonly TrainingRun[];
  /** The key of a version's adapter that the result is compared with; null where there is none. */
  readonly comparedWith: string | null;
}

/** The answer to a process that asks for its job; one whose job is another server's is ended instead. */
export interface JobIsOwned {
  readonly kind: "job-is-owned";
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
