// Opens the stores on a database: migrates the database to the newest version, and creates a store for each interface
// in `base/domain`. The connection decides where the database is and how it is locked.
import type { KeyStore } from "../../base/domain/access.ts";
import { type Clock, systemClock, ownClock, type SharedClock } from "../../base/domain/clock.ts";
import type { AnnotationStore } from "../../base/domain/annotation/annotation-store.ts";
import type { FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import type { FineTuningStore } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { JobStore } from "../../base/domain/job.ts";
import type { LimitStore } from "../../base/domain/keys/limits.ts";
import type { UsageStore } from "../../base/domain/keys/usage.ts";
import type { LearningStore } from "../../base/domain/learning/learning-store.ts";
import type { ModelStore } from "../../base/domain/model.ts";
import type { RetentionStore } from "../../base/domain/retention/retention-store.ts";
import type { RolloutStore } from "../../base/domain/rollouts/rollout.ts";
import type { RuleStore } from "../../base/domain/rewards/stored-rule.ts";
import type { TrainingSourceStore } from "../../base/domain/rewards/training-source.ts";
import type { Announcements } from "../../base/domain/servers/pubsub.ts";
import type { ServerStore } from "../../base/domain/servers/server-store.ts";
import { damagedDatabaseError } from "../../base/domain/transient-errors/damaged-database.ts";
import { fullDiskError } from "../../base/domain/transient-errors/full-disk.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { TrajectoryStore } from "../../base/domain/trajectory.ts";
import type { ObjectStore } from "../../base/domain/traces/published-object.ts";
import type { TraceStore } from "../../base/domain/traces/trace-store.ts";
import type { UploadStore } from "../../base/domain/uploads/upload.ts";
import type { FileStore } from "../../base/domain/uploads/uploaded-file.ts";
import type { WebhookStore } from "../../base/domain/webhooks/webhook-store.ts";
import { announcingStores } from "./pubsub/announcer.ts";
import { createDatabaseClock } from "./database-clock.ts";
import type { Connection } from "./dialect.ts";
import { createCompletionStore } from "./completions/completion-store.ts";
import { createFeedbackStore } from "./feedback/feedback-store.ts";
import { createAnnotationStore } from "./annotation/annotation-store.ts";
import { createFileStore } from "./file-store.ts";
import { createFineTuningStore } from "./fine-tuning/fine-tuning-store.ts";
import { removeUnowned } from "./groups.ts";
import { createJobStore } from "./jobs/job-store.ts";
import { withKeyCache, createKeyStore } from "./keys/key-store.ts";
import { createLimitStore } from "./keys/limit-store.ts";
import { createUsageStore } from "./keys/usage-store.ts";
import { baselineVersion } from "./migrations/baseline.ts";
import {
  type DatabaseVersion,
  migrate,
  newestDatabaseVersion,
  readDatabaseVersion,
  readPresentVersion,
  servesFrom,
} from "./migrations/migrations.ts";
import { createLearningStore } from "./learning/learning-store.ts";
import { createModelStore } from "./models/model-store.ts";
import { createRetentionStore } from "./retention/retention-store.ts";
import { createRuleStore } from "./rewards/rule-store.ts";
import { createSourceStore } from "./rewards/source-store.ts";
import { createRolloutStore } from "./rollouts/rollout-store.ts";
import { createServerStore } from "./server-store.ts";
import { createObjectStore } from "./traces/object-store.ts";
import { createTraceStore } from "./traces/trace-store.ts";
import { createTrajectoryStore } from "./trajectory-store.ts";
import { createUploadStore } from "./upload-store.ts";
import { freeClaims } from "./webhooks/deliveries.ts";
import { createOutbox } from "./webhooks/outbox.ts";
import { createWebhookStore } from "./webhooks/webhook-store.ts";

export interface Stores {
  readonly keys: KeyStore;
  readonly usage: UsageStore;
  readonly limits: LimitStore;
  readonly models: ModelStore;
  readonly jobs: JobStore;
  readonly trajectories: TrajectoryStore;
  readonly completions: CompletionStore;
  readonly rollouts: RolloutStore;
  readonly feedback: FeedbackStore;
  readonly annotation: AnnotationStore;
  readonly files: FileStore;
  readonly uploads: UploadStore;
  readonly fineTuning: FineTuningStore;
  readonly learning: LearningStore;
  readonly objects: ObjectStore;
  readonly traces: TraceStore;
  readonly servers: ServerStore;
  readonly rules: RuleStore;
  readonly sources: TrainingSourceStore;
  readonly webhooks: WebhookStore;
  /** Source of announcements of changes to `keys`, `models` and `jobs`. */
  readonly announcements: Announcements;
  readonly retention: RetentionStore;
  /** Clock that all servers on the database share. */
  readonly clock: SharedClock;
  /**
   * Reads the current version of the database, which a newer program may have changed if other servers share the
   * database.
   */
  version(): Promise<DatabaseVersion | null>;
  /** Human-readable reason why the database cannot be reached; null if no problem is known. */
  fault(): string | null;
  /** Error of the first statement that found corrupt files; null if no corruption is known. */
  damage(): ServiceError | null;
  /** Closes the database. Closing it again does nothing. */
  close(): Promise<void>;
}

/**
 * Migrates the database to the newest version and opens the stores on it; closes the connection on failure. Writes that
 * a store acknowledges are on disk.
 *
 * @param own this machine's clock
 * @throws ServiceError `conflict` if another server uses a single-server database, `unsupported` if this program cannot
 * work on its version, `unavailable` if the disk is full, `internal` if it cannot be opened
 */
export async function openStores(connection: Connection, own: Clock = systemClock): Promise<Stores> {
  const { queries, readTime } = connection;
  const clock = readTime === null ? ownClock(own) : createDatabaseClock(own, readTime);
  try {
    await migrate(connection);
    await clock.synchronize();
    // Only this server can use the database, so all other servers that still have a lease have died. Without their
    // leases, their jobs can be claimed immediately.
    if (connection.isExclusive) {
      await queries.deleteFrom("servers").execute();
      await freeClaims(queries);
      await removeUnowned(queries);
    }
  } catch (cause) {
    await queries.destroy();
    throw openingError(connection, cause);
  }
  return storesOn(connection, clock);
}

/** Creates the stores on a database that has the newest version. */
export function storesOn(connection: Connection, clock: SharedClock): Stores {
  const { queries } = connection;
  const outbox = createOutbox(connection, clock);
  let closing: Promise<void> | null = null;
  const ofKeys = {
    keys: createKeyStore(queries),
    limits: createLimitStore(queries, !connection.isExclusive),
  };
  const { keys, limits } = connection.isExclusive ? withKeyCache(ofKeys) : ofKeys;
  const announced = {
    keys,
    models: createModelStore(connection),
    jobs: createJobStore(connection, outbox),
  };
  return {
    ...announcingStores(announced, connection.announcer),
    usage: createUsageStore(queries),
    limits,
    trajectories: createTrajectoryStore(connection),
    completions: createCompletionStore(connection),
    rollouts: createRolloutStore(connection),
    feedback: createFeedbackStore(connection, outbox),
    annotation: createAnnotationStore(queries),
    files: createFileStore(queries),
    uploads: createUploadStore(queries),
    fineTuning: createFineTuningStore(queries),
    learning: createLearningStore(connection, outbox),
    objects: createObjectStore(queries),
    traces: createTraceStore(connection),
    servers: createServerStore(queries),
    rules: createRuleStore(connection),
    sources: createSourceStore(queries),
    webhooks: createWebhookStore(connection, outbox),
    announcements: connection.announcer,
    retention: createRetentionStore(connection),
    clock,
    version: () => readPresentVersion(queries),
    fault: () => connection.fault(),
    damage: () => connection.damage(),
    close: () => (closing ??= queries.destroy()),
  };
}

/** The version of a database, and whether this program can use it. */
export interface DatabaseVersions {
  /** Version of the database; null if the database has no tables of this program. */
  readonly version: number | null;
  readonly newest: number;
  /** True if this program can use the database, directly or after migrating it. */
  readonly isServable: boolean;
  /**
   * Version of the last breaking change of the database. Older programs that know this version can use the database at
   * the same time as this program.
   */
  readonly servesFrom: number;
}

/**
 * Reads the version of a database without changing the database. Closes the connection.
 *
 * @throws ServiceError as {@link openStores}, but never `unsupported`
 */
export async function readDatabaseVersions(connection: Connection): Promise<DatabaseVersions> {
  try {
    const found = await readDatabaseVersion(connection.queries);
    const newest = newestDatabaseVersion;
    const isNewer = found !== null && found.version > newest;
    return {
      version: found?.version ?? null,
      newest,
      isServable: found === null || (found.version >= baselineVersion && found.servesFrom <= newest),
      servesFrom: isNewer ? found.servesFrom : servesFrom(newest),
    };
  } catch (cause) {
    throw openingError(connection, cause);
  } finally {
    await connection.queries.destroy();
  }
}

function openingError({ name }: Connection, cause: unknown): ServiceError {
  if (cause instanceof ServiceError) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  const message = `The database ${name} cannot be opened: ${reason}.`;
  return (
    damagedDatabaseError(cause, name) ??
    fullDiskError(cause) ??
    new ServiceError({ code: "internal", message, cause })
  );
}
