// Dependencies of the HTTP server. The composition root passes the real services, and tests pass fakes.
import type { KeyStore } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { Constraint, ConstraintCheck } from "../../base/domain/constraint.ts";
import type { EngineState } from "../../base/domain/generation.ts";
import type { PriceList } from "../../base/domain/costs/prices.ts";
import type { FineTuningStore } from "../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { JobStore } from "../../base/domain/job.ts";
import type { KeyLimits } from "../../base/domain/keys/limits.ts";
import type { UsageStore } from "../../base/domain/keys/usage.ts";
import type { ModelStore } from "../../base/domain/model.ts";
import type { SiteFiles } from "../../base/domain/site-files.ts";
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
import type { TrainingSessions } from "../../train/sessions/training-sessions.ts";
import type { JobQueue } from "../../train/jobs/job-queue.ts";
import type { KeyService } from "../../access/keys/key-service.ts";
import type { KeyUse } from "../../access/keys/key-use.ts";
import type { StorageQuotas } from "../../store/retention/quotas.ts";
import type { KeepPolicy } from "../../store/retention/settings.ts";
import type { Sweeper } from "../../store/retention/sweeper.ts";
import type { EntityLimits } from "../../access/keys/limits/entity-limits.ts";
import type { RateLimiter } from "../../access/keys/limits/rate-limiter.ts";
import type { LearningService } from "../../train/learning/learning-service.ts";
import type { RolloutService } from "../../train/rollouts/rollout-service.ts";
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

/** Runs chat completions; see inference/chat. */
export type ChatPort = Pick<ChatService, "begin">;

/** Loads and unloads base models by name. Unknown names throw ServiceError `not_found`. */
export interface BaseMemory {
  /** Resolves when the model is loaded, or rejects with the reason why it cannot be loaded. */
  readonly load: (name: string, options: { readonly signal: AbortSignal }) => Promise<void>;
  /**
   * Resolves when the model is no longer in memory.
   *
   * @throws ServiceError `conflict` while requests use the model, `unsupported` for a model of vLLM servers
   */
  readonly unload: (name: string) => Promise<void>;
}

/** Runs durable jobs; see train/jobs. */
export type JobPort = Pick<JobQueue, "submit" | "replay" | "retry" | "cancel" | "watchEvents" | "limits">;

/**
 * Health of all engines together: the state of the worst one. An engine that is loaded on demand counts as ready. An
 * engine that failed to load counts only if all others failed, too.
 */
export interface EngineHealth {
  readonly state: EngineState["kind"];
  /** Sentence that says why the engines are not ready, or which base models failed to load; otherwise empty. */
  readonly reason: string;
  /** State of each base model, by name: `loaded`, or another state with the reason. */
  readonly models: Readonly<Record<string, string>>;
}

export interface HttpDependencies {
  /** Returns the files of the dashboard page, which is served at `/`. */
  readonly page: () => Promise<SiteFiles>;
  /** Returns the files of the guide, which is served at `/guide`. */
  readonly guide: () => Promise<SiteFiles>;
  readonly chat: ChatPort;
  readonly tokenization: TokenizationService;
  readonly embeddings: Pick<EmbeddingService, "embed">;
  /** Lets other servers fetch the KV caches of prompts; null if this exchange is off. */
  readonly exchange: Pick<PromptExchange, "open"> | null;
  readonly engineHealth: () => EngineHealth;
  /** Returns a sentence that says why the database is unreachable; null if no fault is known. */
  readonly databaseFault: () => string | null;
  /**
   * Returns a sentence about a harmless state of the database, such as that a newer release upgraded it; null if there
   * is nothing to report.
   */
  readonly databaseNote: () => string | null;
  /** Resolves when the database has answered a query; rejects if it cannot be reached. */
  readonly checkDatabase: () => Promise<void>;
  /** Resolves if training jobs make progress. Otherwise rejects with the reason, like the functions in `checks`. */
  readonly checkJobs: () => Promise<void>;
  /**
   * Health checks of other components, by name. A check rejects if its component is unhealthy. If it rejects with a
   * ServiceError, the message is shown to everyone.
   */
  readonly checks: Readonly<Record<string, () => Promise<void>>>;
  /**
   * Compiles a constraint in the same way as for an answer of the base model, and checks JSON values against it. Runs
   * outside the event loop of this process; clients take turns.
   */
  readonly checkConstraint: (
    base: string,
    constraint: Constraint,
    options: {
      /** JSON values to check against the constraint. */
      readonly instances: readonly string[];
      readonly client: string;
      readonly signal: AbortSignal;
    },
  ) => Promise<ConstraintCheck>;
  /** Returns the base models that are served, the default first. */
  readonly baseModels: () => readonly ListedBase[];
  /** Memory of the base models that this server computes. */
  readonly baseMemory: BaseMemory;
  readonly directory: Pick<ModelDirectory, "find" | "resolve">;
  readonly keys: Pick<KeyStore, "find" | "findByHash" | "findEnded">;
  readonly keyService: KeyService;
  readonly keyUse: Pick<KeyUse, "note">;
  readonly usage: Pick<UsageStore, "list">;
  /** Prices of tokens, from which answers get their costs. */
  readonly prices: PriceList;
  readonly announcements: Announcements;
  /** Storage quotas of entities. */
  readonly room: Pick<StorageQuotas, "require" | "quotaOf">;
  /** Retention limits, and the sweep that removes data beyond them. */
  readonly retention: {
    readonly store: Pick<RetentionStore, "removed" | "stored">;
    readonly sweeper: Pick<Sweeper, "sweep">;
    readonly policies: Readonly<Record<KeptKind, KeepPolicy>>;
  };
  readonly limiter: Pick<RateLimiter, "admit">;
  readonly limits: EntityLimits;
  /** Default limits, for entities without limits set by an administrator. */
  readonly entityLimits: KeyLimits;
  readonly models: ModelService;
  readonly checkpointFiles: Pick<CheckpointFiles, "export" | "import">;
  /**
   * Finds the versions of models to which logged values belong, the times at which the versions were created, and models
   * by the names under which usage is counted.
   */
  readonly versions: Pick<ModelStore, "newestVersion" | "findVersion" | "findByName">;
  readonly jobs: JobStore;
  readonly fineTuning: FineTuningStore;
  readonly jobQueue: JobPort;
  readonly trajectories: TrajectoryStore;
  /** Store of recorded completions. */
  readonly completions: CompletionStore;
  readonly feedback: FeedbackService;
  readonly rewards: RewardService;
  readonly rollouts: RolloutService;
  readonly learning: LearningService;
  readonly annotation: AnnotationService;
  readonly files: FileService;
  readonly webhooks: WebhookService;
  readonly objects: ObjectService;
  readonly traces: ProjectTraces;
  /** Live training for clients of the Tinker API. */
  readonly sessions: TrainingSessions;
  /**
   * True if the server answers requests to models. A server that only trains answers only requests about itself, such
   * as health and metrics.
   */
  readonly isServing: boolean;
  /** True once the server is stopping. New work is then refused with 503. */
  readonly isDraining: () => boolean;
  readonly metrics: Metrics;
  /** Traces requests; null if tracing is off. */
  readonly tracing?: Tracing | null;
  readonly logger: Logger;
  /** Newest lines of the server's log. */
  readonly recentLog: Pick<RecentLog, "list" | "follow">;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly settings: HttpSettings;
  readonly auth: "on" | "off";
  /** Identifies users who sign in through the operator's proxy or issuer, without a key. */
  readonly users: SignedInUsers;
  /**
   * Access to metrics, the system check and the documentation: open, or only with a key. `local` requires a key only if
   * the request's host is not this machine or the request comes from another site.
   */
  readonly operatorRoutes: "open" | "local" | "key";
  /** Entity to which all callers belong while authentication is off. */
  readonly defaultEntity: string;
  readonly version: string;
}
