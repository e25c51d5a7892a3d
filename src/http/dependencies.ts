// Everything the HTTP face needs, by injection. The composition root builds one of these; tests build it of fakes.
import type { Caller, KeyStore } from "../domain/access.ts";
import type { ChatEvent, ChatRequest } from "../domain/chat.ts";
import type { Clock } from "../domain/clock.ts";
import type { FeedbackContent, FeedbackRecord, FeedbackRevision } from "../domain/feedback.ts";
import type { EngineStatus } from "../domain/generation.ts";
import type { IdempotencyKey, JobEvent, JobStore, TrainingJob } from "../domain/job.ts";
import type { ModelStore } from "../domain/model.ts";
import type { TrajectoryGroup, TrajectoryStore } from "../domain/trajectory.ts";
import type { Logger } from "../telemetry/logger.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import type { HttpSettings } from "./settings.ts";

/** One chat completion; `chat/` implements it. */
export interface ChatPort {
  /**
   * Tells a completion: one header, deltas, one usage. Throws a ServiceError before the header for what can be known
   * then. Aborting the signal frees everything it holds.
   */
  complete(
    request: ChatRequest,
    caller: Caller,
    options: { readonly signal: AbortSignal },
  ): AsyncIterable<ChatEvent>;
}

/** Durable work; `jobs/` implements it. */
export interface JobPort {
  /** Durable when it resolves. Throws `conflict` for an idempotency key seen with another body. */
  submit(
    job: TrainingJob,
    groups: readonly TrajectoryGroup[],
    idempotency: IdempotencyKey | null,
  ): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /** The job after; throws `not_found`. */
  cancel(id: string): Promise<TrainingJob>;
  /** Ends after the terminal event, or quietly on abort. */
  watchEvents(
    jobId: string,
    options: { readonly after: string | null; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent>;
}

export type FeedbackInput = FeedbackContent & { readonly id: string | null };

/** What is said of objects, ops and calls; `feedback/` implements it and checks references and payloads. */
export interface FeedbackPort {
  /** All or nothing; answers in order. */
  createBatch(items: readonly FeedbackInput[], caller: Caller): Promise<readonly FeedbackRecord[]>;
  create(item: FeedbackInput, caller: Caller): Promise<FeedbackRecord>;
  replace(feedbackId: string, input: FeedbackInput, caller: Caller): Promise<FeedbackRecord>;
  history(projectId: string, id: string, caller: Caller): Promise<readonly FeedbackRevision[]>;
}

export interface HttpDependencies {
  readonly chat: ChatPort;
  readonly engineStatus: () => EngineStatus;
  /** Resolves when the database answers. */
  readonly checkDatabase: () => Promise<void>;
  /** Names of the base models, the default first. */
  readonly baseModels: readonly string[];
  readonly keys: KeyStore;
  readonly models: ModelStore;
  readonly jobs: JobStore;
  readonly jobQueue: JobPort;
  readonly trajectories: TrajectoryStore;
  readonly feedback: FeedbackPort;
  /** Called when versions of a model are gone from the store: forget adapters, remove folders. */
  readonly onVersionsDeleted: (modelId: string, steps: readonly number[]) => Promise<void>;
  /** True once the server is stopping: new work is then answered 503. */
  readonly isDraining: () => boolean;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly settings: HttpSettings;
  readonly auth: "on" | "off";
  /** Where models registered without an entity go when authentication is off. */
  readonly defaultEntity: string;
  readonly version: string;
}
