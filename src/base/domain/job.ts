// Training jobs: their states and events, and the contract of the store that persists them.
import type { CountedTokens } from "./costs/prices.ts";
import type { ModelVersion, TrainedModel } from "./model.ts";
import type { Page, PageRequest } from "./page.ts";
import { ServiceError } from "./service-error.ts";
import type { LearningOrigin } from "./learning/learning-store.ts";
import type { PreferenceConfig } from "./preferences/preference-config.ts";
import type { RolloutOrigin } from "./rollouts/rollout.ts";
import type { FeedbackOrigin } from "./rewards/training-source.ts";
import type { SupervisedConfig } from "./supervised/supervised-config.ts";
import type { TrainerProfile } from "./trainer/profile.ts";
import type { TrainingConfig } from "./training-config.ts";
import type { TrajectoryOutline } from "./summaries/trajectory-outline.ts";
import type { JsonObject } from "./text/json.ts";

export type JobState = "queued" | "running" | "succeeded" | "failed" | "cancelled";

/**
 * Allowed transitions between states. `running -> queued` means that an attempt ended without a result, and the job
 * continues with another attempt.
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

/** Task of a job, by kind. The training data is stored separately, as lines of JSON. */
export type JobTask =
  /** Reinforcement learning. Each line of the data is a trajectory group. */
  | { readonly kind: "rl"; readonly config: TrainingConfig }
  /** Supervised fine-tuning. Each line of the data is an example conversation. */
  | { readonly kind: "sft"; readonly config: SupervisedConfig }
  /** Preference training. Each line of the data is a prompt with a chosen answer, a rejected answer, or both. */
  | { readonly kind: "preference"; readonly config: PreferenceConfig };

export type JobKind = JobTask["kind"];

export const jobKinds = ["rl", "sft", "preference"] as const satisfies readonly JobKind[];

/**
 * Phase of a running job: it converts data to sequences, takes gradient steps, or publishes the result as a version.
 */
export type JobPhase = "preparing" | "training" | "publishing";

export interface JobProgress {
  readonly phase: JobPhase;
  /** Progress of tokenizing the training data; null for jobs that an older version of Hone ran. */
  readonly prepared: PreparedProgress | null;
  readonly gradientStepCount: number;
  /**
   * Total number of gradient steps. Null until all data is prepared, because the data is divided into steps only then.
   */
  readonly gradientStepCountTotal: number | null;
  /**
   * Number of gradient steps that the latest snapshot contains. If the attempt is lost, the next attempt resumes from
   * this snapshot.
   */
  readonly savedStepCount: number;
  /** Estimated end of the current phase; null until its speed has been measured. */
  readonly endsAt: Date | null;
}

/** Number of conversations, trajectory groups or preferences that are already tokenized, and their total number. */
export interface PreparedProgress {
  readonly count: number;
  readonly total: number;
}

/**
 * Numbers of trained and skipped trajectories, with the reasons for skipping. In a supervised job, each conversation
 * counts as a trajectory. In a preference job, each pair or each labelled answer does.
 */
export interface JobCounts {
  readonly groupsSubmitted: number;
  readonly groupsTrainable: number;
  readonly trajectories: number;
  readonly sequences: number;
  readonly trainableTokens: number;
  /**
   * Number of trajectories that the job skips at least in part, by the reason. A trajectory may have several reasons,
   * and the job may still train on its other parts.
   */
  readonly skipped: Readonly<Record<string, number>>;
  /** Number of groups that contain a trajectory with a skipped part, by the reason for skipping. */
  readonly skippedGroups: Readonly<Record<string, number>>;
  /** Optimizer steps of the job; absent for jobs that an older version of Hone ran. */
  readonly steps?: StepCounts;
}

/** Returns the number of tokens that a job trained on. A token counts in each pass over the data. */
export function trainedTokens({ trainableTokens, steps }: JobCounts): number {
  return trainableTokens * (steps?.passCount ?? 1);
}

/**
 * Returns the tokens for which a job is charged. They are unknown until the job has prepared its data. A job that ends
 * without success is charged nothing.
 */
export function chargedTokens({ state, counts }: Pick<TrainingJob, "state" | "counts">): CountedTokens {
  return counts === null || state === "failed" || state === "cancelled"
    ? {}
    : { trainingTokens: trainedTokens(counts) };
}

export interface StepCounts {
  readonly count: number;
  /** Number of passes that the job made over each sequence. */
  readonly passCount: number;
  /** Number of sequences in the largest step. */
  readonly sequencesMax: number;
}

/** Inputs of a job that its first attempt fixes for all later attempts, so that every attempt trains the same model. */
export interface JobPins {
  /** Step of the version from which training starts. */
  readonly startStep: number;
  readonly resultStep: number;
  /** Training settings that are in effect. */
  readonly settings: JsonObject;
  /** SHA-256 of the base model's files, in hexadecimal form. */
  readonly baseHash: string;
  readonly trainerBuild: string;
  /**
   * Seed of the training: SHA-256 of the configuration, the trajectories and the start step, in hexadecimal form. It
   * does not depend on ids and times.
   */
  readonly seed: string;
  /** True if the optimizer state of the start version was still stored when the job's first attempt began. */
  readonly hasTrainerState: boolean;
}

/** Comparison of a replay's result with the version that the original job made. */
export interface ReplayComparison {
  /** Names of the files in the version's folder that were compared. */
  readonly files: readonly string[];
  readonly matrixCount: number;
  /** Number of matrices that differ in any byte, plus the number of differing files that contain no matrices. */
  readonly differentCount: number;
  /** The first 100 differences that were found. */
  readonly different: readonly ReplayDifference[];
}

export interface ReplayDifference {
  readonly file: string;
  /** Name of the matrix that differs; null for a file without matrices. */
  readonly matrix: string | null;
  /** Number of values that differ; null if single values cannot be compared. */
  readonly valueCount: number | null;
  /** Largest absolute difference between two values; null if it cannot be computed or is not finite. */
  readonly greatest: number | null;
}

/** The request that created a job, for logs and traces. */
export interface MadeBy {
  readonly requestId: string;
  /** W3C `traceparent` of the request; null if it was not traced. */
  readonly traceparent: string | null;
}

export interface TrainingJob {
  readonly id: string;
  readonly modelId: string;
  readonly state: JobState;
  readonly task: JobTask;
  /** Names of settings that the client sent, but that had no effect. */
  readonly configNotApplied: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** Error message for the sender of the job; null unless the job failed or was cancelled. */
  readonly errorMessage: string | null;
  /** Number of attempts that were started. Attempts that returned the job to the queue do not count. */
  readonly attemptCount: number;
  /**
   * Number of attempts since the last snapshot that were lost because their training process died. Like `restartCount`,
   * this count has its own limit.
   */
  readonly lostCount: number;
  /**
   * Number of attempts since the last snapshot that were lost because their server died. Like `lostCount`, this count
   * has its own limit.
   */
  readonly restartCount: number;
  /**
   * Sentence that says why a queued job waits: no server has its base model, or the last server that tried the job
   * lacked a resource. Null if the job only waits for its turn, or has ended. A running job keeps the sentence until it
   * has made progress.
   */
  readonly waitingFor: string | null;
  /** Warnings for the sender of the job, as sentences. They do not prevent the job from running. */
  readonly warnings: readonly string[];
  readonly progress: JobProgress | null;
  readonly counts: JobCounts | null;
  /** Step of the version that the job published; null if it published none. */
  readonly resultStep: number | null;
  /** True if a request asked to cancel the job while it was running. */
  readonly cancelRequested: boolean;
  /** SHA-256 of the configuration and the trajectories as stored, in hexadecimal form. */
  readonly contentHash: string;
  /**
   * Pins of the job; null until the first attempt. A replay has none, because it uses the pins of the job that it
   * repeats.
   */
  readonly pins: JobPins | null;
  /**
   * Id of the job that this job repeats as a replay; null for other jobs. A replay compares its result with that job's
   * version, and publishes no version.
   */
  readonly replayOf: string | null;
  /** Id of the failed or cancelled job that this job retries with the same stored data; null for other jobs. */
  readonly retryOf: string | null;
  /** Comparison of the result with the original version; null except for a successful replay. */
  readonly comparison: ReplayComparison | null;
  /**
   * Time at which retention removed the job's data, and all its events except the last; null while data and events are
   * stored.
   */
  readonly dataRemovedAt: Date | null;
  /** Request that created the job; absent if no request did, as for jobs of an automatic rule. */
  readonly madeBy?: MadeBy;
}

/** A job that is not stored yet. The store computes its content hash while it writes the data. */
export type JobDraft = Omit<TrainingJob, "contentHash" | "dataRemovedAt">;

/** Returns the error for an operation that needs a job's data after retention has removed it. */
export function dataRemoved(id: string, at: Date): ServiceError {
  const message = `What training job ${id} trained on was removed at ${at.toISOString()}, as the server's settings of retention say. Send a new job with the data.`;
  return new ServiceError({ code: "conflict", message });
}

/** Data that an attempt stores when it returns its job to the queue. */
export interface JobRelease {
  /** Current time. If the clock later shows an earlier time, it has been set back. The job then no longer waits. */
  readonly at: Date;
  /** Earliest time at which the job may be claimed again. */
  readonly notBefore: Date;
  /**
   * `lost` if the process of the attempt died. `returned` if the attempt ended for a reason that has nothing to do with
   * the job; such attempts are not counted.
   */
  readonly attempt: "lost" | "returned";
  readonly waitingFor: string | null;
}

/** Result of a successful attempt of the server `owner`. */
export interface JobSuccess {
  readonly owner: string;
  /** New version of the model; null for a replay. */
  readonly version: ModelVersion | null;
  /** Comparison of the result with the original version; only for a replay. */
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
  /** Id of the event. It is unique, never changes, and serves as cursor of a page. */
  readonly id: string;
  readonly type: JobEventType;
  /** Data of the event. All values are numbers, except for `error_message` of `training_failed`. */
  readonly data: JsonObject;
}

export interface IdempotencyKey {
  readonly keyId: string;
  readonly key: string;
  /** SHA-256 of the request's body as received, in hexadecimal form. */
  readonly bodyHash: string;
}

export interface JobFilter {
  /** Entity to which the model of a selected job belongs; null to select the jobs of all entities. */
  readonly entity: string | null;
  /** Project of that entity to which the model belongs; absent for any project. */
  readonly project?: string | null;
  readonly modelId: string | null;
  /** Text in the full name of the model, `entity/project/name`, in either case; absent for any name. */
  readonly text?: string;
  readonly kind: JobKind | null;
  readonly state: JobState | null;
}

export interface JobCreation {
  /** Maximum number of queued jobs on all servers together; absent if unlimited. */
  readonly queuedMax?: number;
  /**
   * Maximum number of queued jobs for the models of one entity. A limit that is set for the entity takes precedence.
   */
  readonly queuedPerEntityMax?: number;
  /**
   * Summaries of the trajectories in the data, in order. The store iterates over them once. Absent if the data contains
   * no trajectories.
   */
  readonly outlines?: Iterable<TrajectoryOutline>;
  /** Feedback from which the job was created; absent for other jobs. */
  readonly feedback?: FeedbackOrigin;
  /** Rollouts that the job trains on; absent for other jobs. */
  readonly rollouts?: RolloutOrigin;
  /** Learning cycle that the job begins; absent for other jobs. */
  readonly learning?: LearningOrigin;
  /**
   * API key to which the job's tokens are charged. For a replay or a retry, the default is the key of the earlier job.
   */
  readonly keyId?: string;
}

export interface JobStore {
  /**
   * Durably stores a job and its training data: one line of JSON for each group, conversation or preference, folded as
   * in text/folded-lines. A retry uses the lines, the content hash and the feedback of the earlier job. If the
   * idempotency key was used before with the same body hash, returns the id of the earlier job.
   *
   * @throws ServiceError `conflict` if the idempotency key was used with another body hash, the data of the repeated or
   * retried job was removed, another job has taken the feedback or the rollouts, or another server now owns the
   * automatic rule
   * @throws ServiceError `overloaded` if the number of queued jobs has reached the maximum of the server, the entity or
   * the key
   */
  create(
    job: JobDraft,
    lines: Iterable<string>,
    idempotency: IdempotencyKey | null,
    options?: JobCreation,
  ): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /**
   * Returns the id of the job that was created with this idempotency key; null if there is none.
   *
   * @throws ServiceError `conflict` as `create` does
   */
  findCreated(idempotency: IdempotencyKey): Promise<string | null>;
  find(id: string): Promise<TrainingJob | null>;
  /**
   * Returns the training data as it is stored: one folded JSON line per group, conversation or preference, with only
   * one stored part in memory at a time. Returns null if there is no such job. Reading throws `not_found` if the job is
   * deleted meanwhile, and `conflict` if its data was removed.
   *
   * @param from number of stored parts to skip; 0 by default
   */
  trajectoryLines(id: string, from?: number): Promise<AsyncIterable<string> | null>;
  /** Returns jobs in order of creation. Fields of the filter that are null match all jobs. */
  list(filter: JobFilter, page: PageRequest): Promise<Page<TrainingJob>>;
  /**
   * Claims the oldest queued job of a model that has no running job, marks it as running for the server `owner`, and
   * counts the attempt. Entities take turns, as do the models of an entity; the server's lease must list the job's base
   * model. Returns null if there is no such job, or the server has no lease.
   */
  claim(owner: string, at: Date): Promise<TrainingJob | null>;
  /** Returns the job if it is running for this owner; otherwise null. */
  findRunning(id: string, owner: string): Promise<TrainingJob | null>;
  /**
   * Stores the pins unless the job already has some, and returns the job's pins. If another version has meanwhile taken
   * the step that the result should get, the stored pins get the next step.
   *
   * @throws ServiceError `conflict` if the job is not running for this owner
   */
  pin(id: string, owner: string, pins: JobPins): Promise<JobPins>;
  /**
   * Returns running jobs to the queue if their owner has no lease, or if the owner is `runs.owner` and `runs.ids` does
   * not contain the job. Counts a restart for each attempt without progress. Also deletes the reasons for waiting that
   * servers without a lease have recorded for jobs in the queue; jobs that this call returns to the queue keep theirs.
   *
   * @returns the ids of the jobs
   *
   * @param options.notBefore earliest next claim of a job with this number of restarts, including this one
   */
  rescue(options: {
    readonly at: Date;
    readonly notBefore: (restartCount: number) => Date;
    readonly runs?: { readonly owner: string; readonly ids: readonly string[] };
  }): Promise<readonly string[]>;
  /**
   * Returns a running job of this owner to the queue, and counts a lost attempt unless it has made progress. Returns
   * false if the job is not running for this owner.
   */
  release(id: string, owner: string, release: JobRelease): Promise<boolean>;
  /**
   * Returns the number of queued jobs for each reason in {@link TrainingJob.waitingFor}. The most frequent reason is
   * first.
   */
  countWaiting(): Promise<readonly { readonly waitingFor: string; readonly count: number }[]>;
  /** Adds a warning to the job, unless the job already has it. */
  addWarning(id: string, warning: string): Promise<void>;
  /**
   * Stores the progress of a job. Does nothing if the job is not running for this owner, because another server may own
   * it by now.
   *
   * @param counts null keeps the stored counts
   */
  updateProgress(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Stores progress like `updateProgress`, after a snapshot was saved or further lines of the data were prepared. Also
   * resets `lostCount`, `restartCount` and the reason for waiting.
   */
  advance(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Appends an event, unless the job already has one with this `sequence`, so that a resumed job does not repeat
   * events. Number 0 is `training_started`, and each gradient step has the next number. Events during preparation have
   * negative numbers.
   *
   * @throws ServiceError `conflict` if the job is not running for this owner
   */
  appendEvent(id: string, owner: string, sequence: number, event: Omit<JobEvent, "id">): Promise<void>;
  listEvents(id: string, page: PageRequest): Promise<Page<JobEvent>>;
  /**
   * Ends the job successfully. One transaction writes the version or the comparison, the state `succeeded`, the result
   * step and the event `training_ended`.
   *
   * @throws ServiceError `conflict` if the job is not running for `success.owner`, or if the model already has a
   * version with this step
   */
  succeed(id: string, success: JobSuccess): Promise<void>;
  /**
   * Ends the job without success. One transaction writes the state, and the event `training_failed` with the message.
   *
   * @param options.discard called before the job ends, while no server can claim this job or the next job of its model;
   * if it throws, the job ends nevertheless
   * @throws ServiceError `conflict` if the job has ended, or if `options.owner` is given and the job is not running for
   * that server
   */
  end(
    id: string,
    state: "failed" | "cancelled",
    errorMessage: string,
    at: Date,
    options?: { readonly owner?: string; readonly discard?: () => Promise<void> },
  ): Promise<void>;
  /**
   * Cancels a queued job immediately, or asks the server of a running job to cancel it. Returns the resulting state;
   * null if there is no such job.
   */
  requestCancel(id: string, at: Date): Promise<JobState | null>;
}

/** A job, and the version from which it trains. */
export interface JobRun {
  /** The job. If it is a replay, which repeats an earlier job to compare the results, it trains on that job's data. */
  readonly job: TrainingJob;
  /** Version with the step `pins.startStep`, from which training starts. */
  readonly from: ModelVersion;
  /** Kind of the job that trained this version; null if no job did. */
  readonly fromKind: JobKind | null;
  readonly pins: JobPins;
}

/** All data that an attempt at a job needs. */
export interface JobAssignment extends JobRun {
  readonly model: TrainedModel;
  /**
   * Data with which a replay repeats the original job and compares the result; null for other jobs. The pins of a
   * replay are those of the original job.
   */
  readonly replay: ReplayAssignment | null;
}

export interface ReplayAssignment {
  /** Version with which the replay compares its result. */
  readonly version: ModelVersion;
  /**
   * Jobs to repeat first, in order, if the optimizer state from which the original job started is no longer stored.
   * Each starts from the result of the one before, and the replay starts from the last result.
   */
  readonly earlier: readonly JobRun[];
}

/**
 * Stores an event of an attempt durably, in the order of the calls.
 *
 * @throws ServiceError as documented at each kind of event
 */
export type JobReport = (event: AttemptEvent) => Promise<void>;

/** Events that a running attempt reports. */
export type AttemptEvent =
  /**
   * Number of prepared lines of the data. Reported when all are prepared, and, if there are at least a thousand lines,
   * also after each tenth of the data. `secondsLeft` is estimated from the speed so far.
   */
  | {
      readonly kind: "prepared";
      readonly count: number;
      readonly total: number;
      readonly secondsLeft: number;
    }
  /**
   * The event `training_started`, with the number of gradient steps and the event's data. Both are the same in every
   * attempt.
   */
  | {
      readonly kind: "started";
      readonly stepCount: number;
      readonly counts: JobCounts;
      readonly metrics: Readonly<Record<string, number>>;
    }
  /**
   * Beginning of a new phase after `started`.
   *
   * @throws ServiceError `conflict` if another server owns the job now; this attempt must then not publish anything
   */
  | { readonly kind: "entered"; readonly phase: JobPhase }
  /**
   * The event `gradient_step` with number `index`, counted from 0; all values are finite. `secondsLeft` is the time for
   * the remaining steps, estimated from the latest steps; absent before their speed is measured.
   */
  | {
      readonly kind: "stepped";
      readonly index: number;
      readonly metrics: Readonly<Record<string, number>>;
      readonly secondsLeft?: number | undefined;
    }
  /** A snapshot that contains the first `stepCount` steps was stored. A later attempt can resume from it. */
  | { readonly kind: "saved"; readonly stepCount: number }
  /** A warning for the sender of the job. It is stored once, even if several attempts report it. */
  | { readonly kind: "warned"; readonly warning: string }
  /** A line for the server's log. It has no effect on the result. */
  | { readonly kind: "noted"; readonly message: string }
  /**
   * Asks, before publishing, whether this server still owns the job. Without this check, the result could overwrite the
   * result of another server's attempt.
   *
   * @throws ServiceError `conflict` if another server owns the job now
   */
  | { readonly kind: "asks-for-job" };

export interface JobOutcome {
  /** Folder of the new adapter, relative to the data folder. All its files are complete and on disk. */
  readonly adapterFolder: string;
  /** Trainer state from which the next job can resume; see {@link ModelVersion.trainerState}. */
  readonly trainerState: string | null;
  /** Identifies the weights of the base model that the adapter was trained on; see {@link ModelVersion.base}. */
  readonly base: string;
  /** SHA-256 of the adapter's files, in hexadecimal form. */
  readonly adapterHash: string;
  readonly counts: JobCounts;
  /** Comparison of the result with the original version; only for a replay. */
  readonly comparison?: ReplayComparison;
  /** Metrics to store with the version and to report in `training_ended`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** The pins of a job that its runner determines. */
export type RunnerPins = Pick<JobPins, "settings" | "baseHash" | "trainerBuild">;

export interface JobRunner {
  /** Profile of the trainer. When a job is submitted, the server refuses it if the trainer cannot run it. */
  readonly trainer: TrainerProfile;
  /**
   * Throws `unsupported` if this trainer can never train models on this base model. The message says what to do
   * instead.
   */
  requireTrainable?(baseModel: string): void;
  /**
   * Returns the pins of a job that would start now from this version of the model.
   *
   * @throws ServiceError as `run` does
   */
  pinsFor(model: TrainedModel, from: ModelVersion, task: JobTask): Promise<RunnerPins>;
  /**
   * Runs one attempt to its end. The caller must then call `keep` or `discard` for the result. If the server dies
   * before that, its next start removes the result, unless a version uses it.
   *
   * @throws ServiceError `unavailable` if the attempt was lost (its process died) and another may succeed;
   * `unavailable` with an `obstacle` if the job has to wait; `cancelled` if the signal aborted; any other code if the
   * job itself cannot work
   */
  run(
    assignment: JobAssignment,
    report: JobReport,
    options: { readonly signal: AbortSignal },
  ): Promise<JobOutcome>;
  /** Keeps the result of an attempt, because it now belongs to a version, or the next attempt needs it. */
  keep(assignment: JobAssignment): Promise<void>;
  /**
   * Removes the files of all attempts at a job that ends without a version. Called while no server can claim the job.
   */
  discard(assignment: JobAssignment): Promise<void>;
  /** Removes the snapshots of a job. Called when the job has ended. */
  discardWork(jobId: string): Promise<void>;
  /**
   * Asks the trainer to delete a trainer state that no version uses any more. Does nothing if the state does not exist.
   * If the state belongs to another trainer, keeps it and logs this.
   */
  discardState(trainerState: string): Promise<void>;
}
