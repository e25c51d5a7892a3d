// Everything the HTTP face needs, by injection. The composition root builds one of these; tests build it of fakes.
import type { KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { Constraint, ConstraintCheck } from "../../base/domain/constraint.ts";
import type { EngineState } from "../../base/domain/generation.ts";
import type { JobStore } from "../../base/domain/job.ts";
import type { KeyLimits } from "../../base/domain/keys/limits.ts";
import type { UsageStore } from "../../base/domain/keys/usage.ts";
import type { ModelStore } from "../../base/domain/model.ts";
import type { PageFiles } from "../../base/domain/page-files.ts";
import type { Announcements } from "../../base/domain/servers/pubsub.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { KeptKind, RetentionStore } from "../../base/domain/retention/retention-store.ts";
import type { TrajectoryStore } from "../../base/domain/trajectory.ts";
import type { AnnotationService } from "../../judge/annotation/annotation-service.ts";
import type { ChatService } from "../../inference/chat/complete-chat.ts";
import type { EmbeddingService } from "../../inference/chat/embeddings/embedding-service.ts";
import type { TokenizationService } from "../../inference/chat/tokenization.ts";
import type { CheckpointFiles } from "../../inference/models/checkpoints/checkpoint-files.ts";
import type { FeedbackService } from "../../judge/feedback/feedback-service.ts";
import type { FileService } from "../../train/uploads/file-service.ts";
import type { JobQueue } from "../../train/jobs/job-queue.ts";
import type { KeyService } from "../../access/keys/key-service.ts";
import type { KeyUse } from "../../access/keys/key-use.ts";
import type { StorageQuotas } from "../../store/retention/quotas.ts";
import type { KeepPolicy } from "../../store/retention/settings.ts";
import type { Sweeper } from "../../store/retention/sweeper.ts";
import type { EntityLimits } from "../../access/keys/limits/entity-limits.ts";
import type { RateLimiter } from "../../access/keys/limits/rate-limiter.ts";
import type { RewardService } from "../../train/rewards/reward-service.ts";
import type { ModelDirectory } from "../../inference/models/registry/model-directory.ts";
import type { ModelService } from "../../inference/models/registry/model-service.ts";
import type { SignedInUsers } from "../../access/users/signed-in-users.ts";
import type { ObjectService } from "../../judge/weave/object-service.ts";
import type { ProjectTraces } from "../../judge/weave/project-traces.ts";
import type { PromptExchange } from "../../inference/kv-transfer/prompt-exchange.ts";
import type { AuditLog } from "../../base/telemetry/audit-log.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import type { RecentLog } from "../../base/telemetry/recent-log.ts";
import type { Tracing } from "../../base/telemetry/tracing.ts";
import type { WebhookService } from "../webhooks/webhook-service.ts";
import type { ListedBase } from "../wire/models/served-model.ts";
import type { HttpSettings } from "./settings.ts";

/** One chat completion, of chat/. */
export type ChatPort = Pick<ChatService, "begin">;

/** Durable work, of jobs/. */
export type JobPort = Pick<JobQueue, "submit" | "replay" | "retry" | "cancel" | "watchEvents" | "limits">;

/**
 * The engines as one: as well as the worst of them; one that is loaded when it is needed is well. One that could not be loaded
 * counts only if no other is left.
 */
export interface EngineHealth {
  readonly state: EngineState["kind"];
  /** Why it is not ready, or which base models could not be loaded, for people; else empty. */
  readonly reason: string;
  /** Of each base model whether it is in memory, with why not, for people. */
  readonly models: Readonly<Record<string, string>>;
}

export interface HttpDependencies {
  /** What browsers see at `/`; null where it was not built. */
  readonly page: () => PageFiles | null;
  readonly chat: ChatPort;
  readonly tokenization: TokenizationService;
  readonly embeddings: Pick<EmbeddingService, "embed">;
  /** Null where prompts do not pass between servers. */
  readonly exchange: Pick<PromptExchange, "open"> | null;
  readonly engineHealth: () => EngineHealth;
  /** Why the database cannot be reached now, for people; null as far as is known. */
  readonly databaseFault: () => string | null;
  /** What is not as usual with the database and no fault, for people; null where there is nothing. */
  readonly databaseNote: () => string | null;
  /** Resolves when the database answers. */
  readonly checkDatabase: () => Promise<void>;
  /** Resolves when training jobs get on; rejects as one of `checks` does. */
  readonly checkJobs: () => Promise<void>;
  /** Further parts of the server by name, each with what rejects when it is not well; a ServiceError says it to everybody. */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /**
   * Checks a constraint, and values against it, as answers of a base model would keep it; apart from this process's event
   * loop, and clients take turns.
   */
  readonly checkConstraint: (
    base: string,
    constraint: Constraint,
    options: {
      /** As JSON. */
      readonly instances: readonly string[];
      readonly client: string;
      readonly signal: AbortSignal;
    },
  ) => Promise<ConstraintCheck>;
  /** Those that are served, the default first. */
  readonly baseModels: () => readonly ListedBase[];
  /** What names of models stand for. */
  readonly directory: Pick<ModelDirectory, "find" | "resolve">;
  readonly keys: Pick<KeyStore, "findByHash" | "findEnded">;
  readonly keyService: KeyService;
  readonly keyUse: Pick<KeyUse, "note">;
  readonly usage: Pick<UsageStore, "list">;
  readonly announcements: Announcements;
  /** Whether an entity may store more. */
  readonly room: Pick<StorageQuotas, "require" | "quotaOf">;
  /** What does not stay of what is stored. */
  readonly retention: {
    readonly store: Pick<RetentionStore, "removed" | "stored">;
    readonly sweeper: Pick<Sweeper, "sweep">;
    readonly policies: Readonly<Record<KeptKind, KeepPolicy>>;
  };
  readonly limiter: Pick<RateLimiter, "admit">;
  readonly limits: EntityLimits;
  /** Those of entities that have none of their own. */
  readonly entityLimits: KeyLimits;
  readonly models: ModelService;
  readonly checkpointFiles: Pick<CheckpointFiles, "export" | "import">;
  /** For what is logged of a model's versions, and when one was made. */
  readonly versions: Pick<ModelStore, "newestVersion" | "findVersion">;
  readonly jobs: JobStore;
  readonly jobQueue: JobPort;
  readonly trajectories: TrajectoryStore;
  /** Recorded ones. */
  readonly completions: CompletionStore;
  readonly feedback: FeedbackService;
  readonly rewards: RewardService;
  readonly annotation: AnnotationService;
  readonly files: FileService;
  readonly webhooks: WebhookService;
  readonly objects: ObjectService;
  readonly traces: ProjectTraces;
  /** False of a server that only trains: it answers questions about itself alone. */
  readonly isServing: boolean;
  /** True once the server is stopping: new work is then answered 503. */
  readonly isDraining: () => boolean;
  readonly metrics: Metrics;
  /** Null where nothing is traced. */
  readonly tracing?: Tracing | null;
  readonly logger: Logger;
  /** The newest lines that the logger wrote. */
  readonly recentLog: Pick<RecentLog, "list" | "follow">;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly settings: HttpSettings;
  readonly auth: "on" | "off";
  /** Who is let in without a key. */
  readonly users: SignedInUsers;
  /**
   * Whether metrics, the system check and the documentation want a key; `local` of those requests alone that are addressed
   * to another host than this machine, or are another site's.
   */
  readonly operatorRoutes: "open" | "local" | "key";
  /** Where models registered without an entity go when authentication is off. */
  readonly defaultEntity: string;
  readonly version: string;
}
