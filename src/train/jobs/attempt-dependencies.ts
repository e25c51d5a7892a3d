// What attempts at jobs work with.
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
   * Called with a version over a base model before it becomes the newest: resolves when requests for it can be answered
   * at once. Where it rejects the version is stored all the same.
   */
  readonly prepareVersion?: (version: ModelVersion, baseModel: string) => Promise<void>;
  /** Called when a model has a new version; what it does may wait until the next one, or the next start. */
  readonly onNewVersion?: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  /** Null where nothing is traced. */
  readonly tracing?: Tracing | null;
  /** Absent where nothing is counted. */
  readonly metrics?: AttemptMetrics;
  readonly logger: Logger;
  /** Whom the job was claimed for. */
  readonly owner: string;
}
