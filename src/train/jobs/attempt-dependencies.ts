// Stores, runner, callbacks and metrics that the server passes to each job attempt.
import type { Clock } from "../../base/domain/clock.ts";
import type { JobRunner, JobStore } from "../../base/domain/job.ts";
import type { ModelStore, ModelVersion } from "../../base/domain/model.ts";
import type { TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Tracing } from "../../base/telemetry/tracing.ts";
import type { AttemptMetrics } from "./attempt-report.ts";

export interface AttemptDependencies {
  readonly jobs: JobStore;
  readonly models: Pick<
    ModelStore,
    "find" | "findVersion" | "newestVersion" | "greatestStep" | "oldTrainerStates" | "dropTrainerStates"
  >;
  readonly runner: JobRunner;
  /** Feedback from which jobs were created; absent if none are. */
  readonly sources?: Pick<TrainingSourceStore, "list">;
  /**
   * Called before a new version becomes the newest of its model. Resolves once the engine can answer requests for the
   * version immediately. If it rejects, the version is stored anyway.
   */
  readonly prepareVersion?: (version: ModelVersion, baseModel: string) => Promise<void>;
  /**
   * Called when a model has a new version. An implementation may put its work off until the next call, or until the
   * next start of the server.
   */
  readonly onNewVersion?: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  /** Tracing of job attempts; null if tracing is off. */
  readonly tracing?: Tracing | null;
  /** Metrics of job attempts; absent if metrics are off. */
  readonly metrics?: AttemptMetrics;
  readonly logger: Logger;
  /** Id of the server that claimed the job. */
  readonly owner: string;
}
