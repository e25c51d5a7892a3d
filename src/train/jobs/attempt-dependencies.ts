// Dependencies of job attempts.
import type { Clock } from "../../base/domain/clock.ts";
import type { JobRunner, JobStore } from "../../base/domain/job.ts";
import type { ModelStore, ModelVersion } from "../../base/domain/model.ts";
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
  /**
   * Called before a version on a base model becomes the newest. Resolves once the engine can answer requests for the
   * version immediately. If it rejects, the version is stored anyway.
   */
  readonly prepareVersion?: (version: ModelVersion, baseModel: string) => Promise<void>;
  /**
   * Called when a model has a new version. The callee may leave its work to the next call, or to the next start of the
   * server.
   */
  readonly onNewVersion?: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  /** Tracing of attempts; null if off. */
  readonly tracing?: Tracing | null;
  /** Metrics of attempts; absent if off. */
  readonly metrics?: AttemptMetrics;
  readonly logger: Logger;
  /** Id of the server that claimed the job. */
  readonly owner: string;
}
