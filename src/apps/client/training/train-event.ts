// Events of a training run, for progress displays.
import type { TrainingEvent } from "../api.ts";
import type { RoundReport, Validation } from "./round-report.ts";

export type TrainEvent =
  | {
      readonly type: "run-started";
      /** Name of the model in training. */
      readonly model: string;
      readonly round: number;
      readonly rounds: number;
      readonly step: number;
    }
  /** The server is loading, restarting or unreachable, and the run is waiting for it. */
  | { readonly type: "server-awaited"; readonly reason: string; readonly waitedMs: number }
  /** The rounds before this one were completed by an earlier run. */
  | { readonly type: "run-resumed"; readonly round: number; readonly rounds: number; readonly step: number }
  | {
      readonly type: "rollouts-started";
      readonly of: "round" | "validation";
      readonly round: number;
      readonly step: number;
      readonly total: number;
    }
  | {
      readonly type: "rollout-ended";
      readonly ended: number;
      readonly failures: number;
      readonly total: number;
    }
  | { readonly type: "job-started"; readonly round: number; readonly jobId: string }
  | { readonly type: "job-event"; readonly round: number; readonly event: TrainingEvent }
  /** A version was validated; `round` is the number of completed rounds. */
  | { readonly type: "version-validated"; readonly round: number; readonly validation: Validation }
  | { readonly type: "round-ended"; readonly report: RoundReport }
  | { readonly type: "run-ended"; readonly summary: string };
