// What a training process and its parent say to each other. Trajectories go through a file: large messages are slow.
import type { JobCounts } from "../domain/job.ts";
import type { ErrorCode } from "../domain/service-error.ts";
import type { TrainingConfig } from "../domain/training-config.ts";
import type { TrainingSettings } from "./settings.ts";

/** A process works for one base model; only the first message's model and settings count. */
export interface RunMessage {
  readonly kind: "run";
  readonly baseModel: { readonly name: string; readonly folder: string };
  readonly settings: TrainingSettings;
  readonly dataFolder: string;
  readonly jobId: string;
  readonly config: TrainingConfig;
  /** One group a line, as JSON. */
  readonly trajectoriesFile: string;
  readonly fromAdapterFolder: string | null;
  /** Relative to the data folder. */
  readonly adapterFolder: string;
}

export type TrainingMessage =
  | { readonly kind: "started"; readonly stepCount: number; readonly counts: JobCounts }
  | { readonly kind: "stepped"; readonly index: number; readonly metrics: Readonly<Record<string, number>> }
  | {
      readonly kind: "finished";
      readonly counts: JobCounts;
      readonly metrics: Readonly<Record<string, number>>;
    }
  | {
      readonly kind: "failed";
      readonly code: ErrorCode;
      readonly message: string;
      /** For the log. */
      readonly detail: string;
    };
