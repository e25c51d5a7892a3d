// Training jobs: states, events, and the contract of the store that persists them.
import type { ModelVersion, TrainedModel } from "./model.ts";
import type { Page, PageRequest } from "./page.ts";
import { ServiceError } from "./service-error.ts";
import type { PreferenceConfig } from "./preferences/preference-config.ts";
import type { FeedbackOrigin } from "./rewards/training-source.ts";
import type { SupervisedConfig } from "./supervised/supervised-config.ts";
import type { TrainerProfile } from "./trainer/profile.ts";
import type { TrainingConfig } from "./training-config.ts";
import type { TrajectoryOutline } from "./summaries/trajectory-outline.ts";
import type { JsonObject } from "./text/json.ts";

export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/**
 * Allowed state transitions. `running -> queued` means that an attempt ended without a result and the job continues
 * with another attempt.
 */
export const jobTransitions: { readonly [State in JobState]: readonly JobState[] } = {
  queued: ["running", "cancelled", "failed"],
  running: ["succeeded", "failed", "cancelled", "queued"],
  succeeded: [],
  failed: [],
  cancelled: [],
};

export function isTerminal(state: JobState): boolean {
  return jobTransitions[state].length === 0;
}

/** Task of a job, by kind. The training data is stored separately, as lines. */
export type JobTask =
  /** Reinforcement learning; each line is a trajectory group. */
  | { readonly kind: "rl"; readonly config: TrainingConfig }
  /** Supervised fine-tuning; each line is an example conversation. */
  | { readonly kind: "sft"; readonly config: SupervisedConfig }
  /** Preference training; each line is a prompt with a chosen answer, a rejected answer, or both. */
  | { readonly kind: "preference"; readonly config: PreferenceConfig };

export type JobKind = JobTask["kind"];

export const jobKinds = ["rl", "sft", "preference"] as const satisfies readonly JobKind[];

/** Phase of a running job: converting data to sequences, taking steps, or publishing the result as a version. */
export type JobPhase = "preparing" | "training" | "publishing";

export interface JobProgress {
  readonly phase: JobPhase;
  /** Progress of tokenizing the training data; null in jobs that an older version of Hone ran. */
  readonly prepared: PreparedProgress | null;
  readonly gradientStepCount: number;
  /** Total number of gradient steps; null until all data is prepared, since the data is divided into steps only then. */
  readonly gradientStepCountTotal: number | null;
  /**
   * Number of gradient steps in the latest snapshot. If the attempt is lost, the next attempt resumes from this
   * snapshot.
   */
  readonly savedStepCount: number;
  /** Estimated end of the current phase at the speed so far; null before the speed is measured. */
  readonly endsAt: Date | null;
}

/** Number of conversations, trajectory groups or preferences that were tokenized. */
export interface PreparedProgress {
  readonly count: number;
  readonly total: number;
}

/**
 * Numbers of trained and skipped trajectories, with the reasons for skipping. In a supervised job, each conversation
 * counts as a trajectory. In a preference job, each pair does, or each labelled answer.
 */
export interface JobCounts {
  readonly groupsSubmitted: number;
  readonly groupsTrainable: number;
  readonly trajectories: number;
  readonly sequences: number;
  readonly trainableTokens: number;
  /**
   * Number of trajectories with a skipped part, by reason. A trajectory may have several reasons, and its other parts
   * may still be trained on.
   */
  readonly skipped: Readonly<Record<string, number>>;
  /** Number of groups that contain trajectories with a skipped part, by reason. */
  readonly skippedGroups: Readonly<Record<string, number>>;
  /** Optimizer steps; absent in jobs that an older version of Hone ran. */
  readonly steps?: StepCounts;
}

/** Returns the number of tokens on which a job trained. Each pass over the data counts. */
export function trainedTokens({ trainableTokens, steps }: JobCounts): number {
  return trainableTokens * (steps?.passCount ?? 1);
}

/** Optimizer steps of a job. */
export interface StepCounts {
  readonly count: number;
  /** Number of passes over each sequence. */
  readonly passCount: number;
  /** Number of sequences in the largest step. */
  readonly sequencesMax: number;
}

/**
 * The inputs of a job that its first attempt fixes for all later attempts, so that every attempt trains the same
 * model.
 */
export interface JobPins {
  /** Version from which training starts. */
  readonly startStep: number;
  readonly resultStep: number;
  /** Training settings in effect. */
  readonly settings: JsonObject;
  /** Hex SHA-256 of the base model's files. */
  readonly baseHash: string;
  readonly trainerBuild: string;
  /**
   * Seed of the training: hex SHA-256 of the configuration, the trajectories and the start step. It does not depend on
   * ids and times.
   */
  readonly seed: string;
  /** True if the optimizer state of the version from which training starts was available. */
  readonly hasTrainerState: boolean;
}

/** Comparison of a replay's result with the original version. */
export interface ReplayComparison {
  /** Names of the compared files in the version's folder. */
  readonly files: readonly string[];
  readonly matrixCount: number;
  /** Number of matrices that differ in any byte, plus the number of differing files without matrices. */
  readonly differentCount: number;
  /** The first 100 differences. */
  readonly different: readonly ReplayDifference[];
}

export interface ReplayDifference {
  readonly file: string;
  /** Name of the matrix; null for a file without matrices. */
  readonly matrix: string | null;
  /** Number of differing values; null if single values cannot be compared. */
  readonly valueCount: number | null;
  /** Largest absolute difference between two values; null if not comparable or not finite. */
  readonly greatest: number | null;
}

/** Request that created the job, for logs and traces. */
export interface MadeBy {
  readonly requestId: string;
  /** The request's W3C `traceparent`. */
  readonly traceparent: string | null;
}

export interface TrainingJob {
  readonly id: string;
  readonly modelId: string;
  readonly state: JobState;
  readonly task: JobTask;
  /** Configuration keys that the client sent but that were not applied. */
  readonly configNotApplied: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** Human-readable error; null unless the job failed or was cancelled. */
  readonly errorMessage: string | null;
  /** Number of attempts that were started. Attempts that were returned to the queue do not count. */
  readonly attemptCount: number;
  /**
   * Number of attempts since the last snapshot that were lost because their training process died. Limited separately
   * from `restartCount`.
   */
  readonly lostCount: number;
  /**
   * Number of attempts since the last snapshot that were lost because their server died. Limited separately from
   * `lostCount`.
   */
  readonly restartCount: number;
  /**
   * Human-readable reason why a queued job waits; null if it only waits for its turn, or has ended. Either no server
   * has the job's base model, or the last server that tried the job lacked a resource. A running job keeps the reason
   * until it has made progress.
   */
  readonly waitingFor: string | null;
  /** Human-readable warnings for the sender. They do not prevent the job from running. */
  readonly warnings: readonly string[];
  readonly progress: JobProgress | null;
  readonly counts: JobCounts | null;
  /** Version number of the published version. */
  readonly resultStep: number | null;
  /** True if cancellation was requested while the job was running. */
  readonly cancelRequested: boolean;
  /** Hex SHA-256 of the configuration and the trajectories as stored. */
  readonly contentHash: string;
  /** Pins of the job; null until the first attempt. Always null for a replay, which uses the pins of the repeated job. */
  readonly pins: JobPins | null;
  /**
   * Id of the job that this replay repeats; the replay compares its result with that job's version. A replay publishes
   * no version.
   */
  readonly replayOf: string | null;
  /** Id of the failed or cancelled job that this job retries with the same stored lines. */
  readonly retryOf: string | null;
  /** Comparison of the results; null except for a successful replay. */
  readonly comparison: ReplayComparison | null;
  /** Time when retention removed the job's data and all its events except the last; null while they are kept. */
  readonly dataRemovedAt: Date | null;
  /** Request that created the job; absent if none did, as for an automatic rule. */
  readonly madeBy?: MadeBy;
}

/** A job before it is stored. The store computes the content hash while writing. */
export type JobDraft = Omit<TrainingJob, "contentHash" | "dataRemovedAt">;

/** Returns the error for an operation that needs a job's data after the retention sweep has removed it. */
export function dataRemoved(id: string, at: Date): ServiceError {
  const message = `What training job ${id} trained on was removed at ${at.toISOString()}, as the server's settings of retention say. Send a new job with the data.`;
  return new ServiceError({ code: "conflict", message });
}

/** How a job returns to the queue. */
export interface JobRelease {
  /** Current time. If the clock later shows an earlier time, it has been set back, and the job no longer waits. */
  readonly at: Date;
  /** Earliest time at which the job may be claimed again. */
  readonly notBefore: Date;
  /**
   * `lost` if the attempt's process died. `returned` if the attempt ended for a reason unrelated to the job. Attempts
   * that were returned are not counted.
   */
  readonly attempt: "lost" | "returned";
  readonly waitingFor: string | null;
}

/** Result of a successful attempt by `owner`. */
export interface JobSuccess {
  readonly owner: string;
  /** New version; null for a replay. */
  readonly version: ModelVersion | null;
  /** Comparison of results; only for a replay. */
  readonly comparison?: ReplayComparison;
  readonly counts: JobCounts;
  readonly at: Date;
  /** Data of the event `training_ended`. */
  readonly data: JsonObject;
}

export type JobEventType =
  | "preparing"
  | "training_started"
  | "gradient_step"
  | "training_ended"
  | "training_failed";

export interface JobEvent {
  /** Id of the event, stable and unique, used as the page cursor. */
  readonly id: string;
  readonly type: JobEventType;
  /** Data of the event: only numbers, except `error_message` of `training_failed`. */
  readonly data: JsonObject;
}

export interface IdempotencyKey {
  readonly keyId: string;
  readonly key: string;
  /** Hex SHA-256 of the request body as received. */
  readonly bodyHash: string;
}

export interface JobFilter {
  /** Entity of the job's model. */
  readonly entity: string | null;
  /** Project within the entity; absent for any project. */
  readonly project?: string | null;
  readonly modelId: string | null;
  readonly kind: JobKind | null;
  readonly state: JobState | null;
}

export interface JobCreation {
  /** Maximum number of queued jobs; absent if unlimited. */
  readonly queuedMax?: number;
  /** Maximum number of queued jobs for the models of one entity. The entity's own limit takes precedence. */
  readonly queuedPerEntityMax?: number;
  /** Summaries of the trajectories in the lines, in order, iterated once; absent if the lines contain no trajectories. */
  readonly outlines?: Iterable<TrajectoryOutline>;
  /** Feedback from which the job was created; absent for other jobs. */
  readonly feedback?: FeedbackOrigin;
  /**
   * API key to which the job's tokens are charged. For a repeated or retried job, the default is the key of the
   * earlier job.
   */
  readonly keyId?: string;
}

export interface JobStore {
  /**
   * Stores a job with its training data, one folded line of JSON for each group, conversation or preference; durable
   * when it resolves. A retry shares the lines, the content hash and the feedback of the job that it retries. If the
   * idempotency key was used before with the same body hash, returns the id of the earlier job.
   *
   * @throws ServiceError `conflict` if the idempotency key was used with another body hash, the data of the repeated
   * or retried job was removed, another job has taken the feedback, or another server now owns the automatic rule
   * @throws ServiceError `overloaded` if the number of queued jobs has reached the maximum of the server, the entity
   * or the key
   */
  create(
    job: JobDraft,
    lines: Iterable<string>,
    idempotency: IdempotencyKey | null,
    options?: JobCreation,
  ): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /**
   * Returns the id of the job created with this idempotency key; null if there is none. @throws ServiceError
   * `conflict` as `create` does
   */
  findCreated(idempotency: IdempotencyKey): Promise<string | null>;
  find(id: string): Promise<TrainingJob | null>;
  /**
   * Returns the training data as stored: one folded JSON line per group or conversation, with one part in memory at a
   * time; null if there is no such job. Reading throws `not_found` if the job is deleted meanwhile and `conflict` if
   * its data was removed.
   *
   * @param from number of stored parts to skip; 0 by default
   */
  trajectoryLines(id: string, from?: number): Promise<AsyncIterable<string> | null>;
  /** Returns jobs in order of creation; null fields of the filter match all. */
  list(filter: JobFilter, page: PageRequest): Promise<Page<TrainingJob>>;
  /**
   * Claims the oldest queued job of a model without a running job, marks it as running for `owner`, and counts the
   * attempt. Entities take turns, and so do the models of an entity; only jobs on base models of the owner's lease are
   * claimed. Returns null if there is no such job, or the owner has no lease.
   */
  claim(owner: string, at: Date): Promise<TrainingJob | null>;
  /** Returns the job if it is running for this owner, otherwise null. */
  findRunning(id: string, owner: string): Promise<TrainingJob | null>;
  /**
   * Stores the pins if the job has none, and returns the job's pins. If another version has meanwhile taken the step
   * that the result should get, the pins get the next step. @throws ServiceError `conflict` if the job is not running
   * for this owner
   */
  pin(id: string, owner: string, pins: JobPins): Promise<JobPins>;
  /**
   * Returns running jobs to the queue if their owner has no lease, or if the owner does not list them among the jobs
   * that it runs. Counts a restart for each attempt without progress, and returns the jobs' ids. Clears the reason for
   * waiting that an owner without a lease recorded, except for lost attempts, because the job may have killed the
   * server.
   *
   * @param options.notBefore earliest next claim of a job with this number of restarts, including this one
   */
  rescue(options: {
    readonly at: Date;
    readonly notBefore: (restartCount: number) => Date;
    readonly runs?: { readonly owner: string; readonly ids: readonly string[] };
  }): Promise<readonly string[]>;
  /**
   * Returns this owner's running job to the queue, and counts a lost attempt unless it has made progress. Returns
   * false if the job does not run for this owner.
   */
  release(id: string, owner: string, release: JobRelease): Promise<boolean>;
  /** Returns the number of queued jobs for each reason in {@link TrainingJob.waitingFor}, most frequent first. */
  countWaiting(): Promise<readonly { readonly waitingFor: string; readonly count: number }[]>;
  /** Adds a warning to the job; has no effect if the job already has it. */
  addWarning(id: string, warning: string): Promise<void>;
  /**
   * Stores progress. Has no effect if the job is not running for this owner, because another server may own it by
   * then.
   *
   * @param counts null keeps the stored counts
   */
  updateProgress(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Stores progress like `updateProgress`, after a snapshot was saved or further lines were prepared. Also resets
   * `lostCount`, `restartCount` and the reason for waiting.
   */
  advance(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Appends an event, unless the job already has one with this `sequence`; a resumed job therefore does not repeat
   * events. Number 0 is `training_started`, and each gradient step has the next number. Preparation events have
   * negative numbers.
   *
   * @throws ServiceError `conflict` if the job is not running for this owner
   */
  appendEvent(id: string, owner: string, sequence: number, event: Omit<JobEvent, "id">): Promise<void>;
  listEvents(id: string, page: PageRequest): Promise<Page<JobEvent>>;
  /**
   * Ends the job successfully. In one transaction, it writes the version or the comparison, the state `succeeded`, the
   * result step and the event `training_ended`. @throws ServiceError `conflict` if the job is not running for this
   * owner, or the version's step exists
   */
  succeed(id: string, success: JobSuccess): Promise<void>;
  /**
   * Ends the job without success. In one transaction, it writes the state and the event `training_failed` with the
   * message. @throws ServiceError `conflict` if the job has ended, or if `owner` is given and the job is not running
   * for this owner
   *
   * @param options.discard called before the job ends, while no server can claim it or the next job of its model; its
   * errors do not prevent the end
   */
  end(
    id: string,
    state: "failed" | "cancelled",
    errorMessage: string,
    at: Date,
    options?: { readonly owner?: string; readonly discard?: () => Promise<void> },
  ): Promise<void>;
  /** Cancels a queued job immediately; requests cancellation of a running job. Returns the resulting state. */
  requestCancel(id: string, at: Date): Promise<JobState | null>;
}

/** A job with the version from which it trains. */
export interface JobRun {
  /** Job with its task and its training data; a replay uses the data of the repeated job. */
  readonly job: TrainingJob;
  /** Version of `pins.startStep`, from which training starts. */
  readonly from: ModelVersion;
  /** Kind of job that trained this version; null if no job did. */
  readonly fromKind: JobKind | null;
  readonly pins: JobPins;
}

/** Everything that an attempt at a job needs. */
export interface JobAssignment extends JobRun {
  readonly model: TrainedModel;
  /**
   * Data for comparing and repeating if the job is a replay, whose pins are those of the repeated job; null for other
   * jobs.
   */
  readonly replay: ReplayAssignment | null;
}

export interface ReplayAssignment {
  /** Version with which to compare the result. */
  readonly version: ModelVersion;
  /**
   * Jobs to repeat first, in order, if the optimizer state from which the original job started is no longer stored.
   * Each starts from the result of the previous one, and the replay starts from the last result.
   */
  readonly earlier: readonly JobRun[];
}

/** Stores an attempt's event durably, in the order of the calls. @throws ServiceError as the event documents */
export type JobReport = (event: AttemptEvent) => Promise<void>;

/** Reports of a running attempt. */
export type AttemptEvent =
  /**
   * Number of lines that are prepared. Reported at the end, and for a thousand or more lines also after each tenth.
   * `secondsLeft` is estimated from the speed so far.
   */
  | {
      readonly kind: "prepared";
      readonly count: number;
      readonly total: number;
      readonly secondsLeft: number;
    }
  /**
   * Event `training_started`, with the number of gradient steps and the event's data. Both are the same in every
   * attempt.
   */
  | {
      readonly kind: "started";
      readonly stepCount: number;
      readonly counts: JobCounts;
      readonly metrics: Readonly<Record<string, number>>;
    }
  /**
   * Start of a new phase after `started`. @throws ServiceError `conflict` if another server owns the job by now, in
   * which case this attempt must not publish anything
   */
  | { readonly kind: "entered"; readonly phase: JobPhase }
  /**
   * Event `gradient_step` with number `index`, from 0; all values are finite. `secondsLeft` is the time for the
   * remaining steps, estimated from the speed of the latest steps; absent before the speed is measured.
   */
  | {
      readonly kind: "stepped";
      readonly index: number;
      readonly metrics: Readonly<Record<string, number>>;
      readonly secondsLeft?: number | undefined;
    }
  /** A snapshot of the first `stepCount` steps was stored. A later attempt can resume from it. */
  | { readonly kind: "saved"; readonly stepCount: number }
  /** A warning for the sender of the job. Stored once, even if several attempts report it. */
  | { readonly kind: "warned"; readonly warning: string }
  /** A line for the server's log. Has no effect on the result. */
  | { readonly kind: "noted"; readonly message: string }
  /**
   * Asks if this server still owns the job, before publishing. Without this check, the result could overwrite that of
   * another server's attempt. @throws ServiceError `conflict` if another server owns the job now
   */
  | { readonly kind: "asks-for-job" };

export interface JobOutcome {
  /** Folder of the adapter, relative to the data folder. All its files are complete and on disk. */
  readonly adapterFolder: string;
  /** Trainer state from which the next job resumes; see {@link ModelVersion.trainerState}. */
  readonly trainerState: string | null;
  /** Weights of the base model on which the adapter was trained; see {@link ModelVersion.base}. */
  readonly base: string;
  /** Hex SHA-256 of the adapter's files. */
  readonly adapterHash: string;
  readonly counts: JobCounts;
  /** Comparison of results; only for a replay. */
  readonly comparison?: ReplayComparison;
  /** Metrics of the version and of `training_ended`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Pins that the runner determines. */
export type RunnerPins = Pick<JobPins, "settings" | "baseHash" | "trainerBuild">;

export interface JobRunner {
  /** Profile of the trainer; jobs that it cannot run are refused on submission. */
  readonly trainer: TrainerProfile;
  /**
   * Refuses, with `unsupported`, jobs on a base model that this trainer can never train. The message says what to do
   * instead.
   */
  requireTrainable?(baseModel: string): void;
  /** Returns the pins for a job of this model that starts now from this version. @throws ServiceError as `run` does */
  pinsFor(model: TrainedModel, from: ModelVersion, task: JobTask): Promise<RunnerPins>;
  /**
   * Runs one attempt to its end. The caller must then call `keep` or `discard` for the result. If the server dies
   * before that, its next start removes the result, unless a version has it.
   *
   * @throws ServiceError `unavailable` if the attempt was lost (its process died) and another may succeed, or, with an
   * obstacle, if the job has to wait; `cancelled` if the signal aborted; any other code if the job itself cannot work
   */
  run(
    assignment: JobAssignment,
    report: JobReport,
    options: { readonly signal: AbortSignal },
  ): Promise<JobOutcome>;
  /** Keeps an attempt's result: it now belongs to its version, or the next attempt needs it. */
  keep(assignment: JobAssignment): Promise<void>;
  /**
   * Removes the files of all attempts, for a job that ends without a version. Called while no server can claim the
   * job.
   */
  discard(assignment: JobAssignment): Promise<void>;
  /** Removes a job's snapshots. Called when the job has ended. */
  discardWork(jobId: string): Promise<void>;
  /**
   * Asks the trainer to delete a trainer state that no version uses any more. It is no error if the state does not
   * exist. A state of another trainer is kept, and a log line says so.
   */
  discardState(trainerState: string): Promise<void>;
}
