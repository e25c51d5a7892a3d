// What attempts at jobs work with.
import type { Clock } from "../domain/clock.ts";
import type { JobRunner, JobStore } from "../domain/job.ts";
import type { ModelStore } from "../domain/model.ts";
import type { Logger } from "../telemetry/logger.ts";

export interface AttemptDependencies {
  readonly jobs: JobStore;
  readonly models: Pick<
    ModelStore,
    "find" | "findVersion" | "newestVersion" | "greatestStep" | "dropTrainerStates"
  >;
  readonly runner: JobRunner;
  /** Called when a model has a new version; what it does may wait until the next one, or the next start. */
  readonly onNewVersion?: (modelId: string) => Promise<void>;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whom the job was claimed for. */
  readonly owner: string;
}
