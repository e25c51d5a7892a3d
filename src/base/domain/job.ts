// Training jobs: states, events, and the contract of the store that makes them durable.
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

/** Allowed transitions. `running -> queued` is a rescue: the attempt was lost, but not the job. */
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

/** Task of a job; its training data is stored as lines. */
export type JobTask =
  /** Reinforcement learning; each line is a trajectory group. */
  | { readonly kind: "rl"; readonly config: TrainingConfig }
  /** Supervised fine-tuning; each line is an example conversation. */
  | { readonly kind: "sft"; readonly config: SupervisedConfig }
  /** Preference training; each line is a prompt with a chosen answer, a rejected answer, or both. */
  | { readonly kind: "preference"; readonly config: PreferenceConfig };

export type JobKind = JobTask["kind"];

export const jobKinds = ["rl", "sft", "preference"] as const satisfies readonly JobKind[];

/** Phase of a running job: turning data into sequences, taking steps, or publishing the result as a version. */
export type JobPhase = "preparing" | "training" | "publishing";

export interface JobProgress {
  readonly phase: JobPhase;
  /** Progress of tokenizing the training data; null in jobs of older versions. */
  readonly prepared: PreparedProgress | null;
  readonly gradientStepCount: number;
  /** Null until all data is prepared, because the steps are cut then. */
  readonly gradientStepCountTotal: number | null;
  /** Number of steps in the latest snapshot; an attempt after a loss resumes there. */
  readonly savedStepCount: number;
  /** Estimated end of the phase, from the speed so far; null before a measurement. */
  readonly endsAt: Date | null;
}

/** Conversations, trajectory groups, or preferences. */
export interface PreparedProgress {
  readonly count: number;
  readonly total: number;
}

/**
 * Trained and skipped trajectories, with reasons. The conversations of supervised jobs, and the pairs or judged
 * answers of preference jobs, count as trajectories without a group.
 */
export interface JobCounts {
  readonly groupsSubmitted: number;
  readonly groupsTrainable: number;
  readonly trajectories: number;
  readonly sequences: number;
  readonly trainableTokens: number;
  /**
   * Reason to the number of trajectories of which a part was skipped for it. A trajectory may have several reasons,
   * and still train in part.
   */
  readonly skipped: Readonly<Record<string, number>>;
  /** Reason to the number of groups with such trajectories. */
  readonly skippedGroups: Readonly<Record<string, number>>;
  /** Absent in jobs of older versions. */
  readonly steps?: StepCounts;
}

/** Returns the tokens that a job trained on, counted once for each pass. */
export function trainedTokens({ trainableTokens, steps }: JobCounts): number {
  return trainableTokens * (steps?.passCount ?? 1);
}

/** Optimizer steps of a job. */
export interface StepCounts {
  readonly count: number;
  /** Passes over each sequence. */
  readonly passCount: number;
  /** Sequences in the largest step. */
  readonly sequencesMax: number;
}

/** Choices that the first attempt at a job fixes for all later ones, so that each trains the same model. */
export interface JobPins {
  /** Version from which training starts. */
  readonly startStep: number;
  readonly resultStep: number;
  /** Effective training settings. */
  readonly settings: JsonObject;
  /** Hex SHA-256 of the base model's files. */
  readonly baseHash: string;
  readonly trainerBuild: string;
  /** Hex SHA-256 of configuration, trajectories and start step; independent of ids and times. */
  readonly seed: string;
  /** True if the start version had its optimizer state. */
  readonly hasTrainerState: boolean;
}

/** Comparison of a replay's result with the version that the job made. */
export interface ReplayComparison {
  /** Names in the version's folder. */
  readonly files: readonly string[];
  readonly matrixCount: number;
  /** Number of matrices, and of files without matrices, that differ in any byte. */
  readonly differentCount: number;
  /** The first 100 of them. */
  readonly different: readonly ReplayDifference[];
}

export interface ReplayDifference {
  readonly file: string;
  /** Null for a file without matrices. */
  readonly matrix: string | null;
  /** Number of differing values; null if they cannot be compared one by one. */
  readonly valueCount: number | null;
  /** Largest absolute difference of two values; null if not comparable or not finite. */
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
  /** Configuration keys that were sent but not applied. */
  readonly configNotApplied: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** For people; null unless failed or cancelled. */
  readonly errorMessage: string | null;
  /** Attempts begun, except those that were returned. */
  readonly attemptCount: number;
  /** Attempts lost with their training process since the last snapshot; has its own limit. */
  readonly lostCount: number;
  /** Attempts lost with their server since the last snapshot; has its own limit. */
  readonly restartCount: number;
  /**
   * Why a queued job waits, for people: no server has its base model, or the last server that tried it lacked a
   * resource. Null if it only waits for its turn, or has ended. A running job keeps the reason until it has made
   * progress.
   */
  readonly waitingFor: string | null;
  /** Warnings for the sender about a job that works; for people. */
  readonly warnings: readonly string[];
  readonly progress: JobProgress | null;
  readonly counts: JobCounts | null;
  /** Step of the published version. */
  readonly resultStep: number | null;
  /** True once cancellation of a running job was requested. */
  readonly cancelRequested: boolean;
  /** Hex SHA-256 of the configuration and the trajectories as stored. */
  readonly contentHash: string;
  /** Null until the first attempt. Always null for a replay, which uses the pins of the job it repeats. */
  readonly pins: JobPins | null;
  /** Job that this replay repeats and compares with; a replay publishes no version. */
  readonly replayOf: string | null;
  /** Failed or cancelled job that this job retries, training on that job's stored lines. */
  readonly retryOf: string | null;
  /** Set for a successful replay. */
  readonly comparison: ReplayComparison | null;
  /** Time when retention removed its data and its events except the last; null while they are kept. */
  readonly dataRemovedAt: Date | null;
  /** Absent if no request created the job, such as for an automatic rule. */
  readonly madeBy?: MadeBy;
}

/** A job before it is stored; the store hashes its content while writing. */
export type JobDraft = Omit<TrainingJob, "contentHash" | "dataRemovedAt">;

/** Refusal of an operation that needs removed data. */
export function dataRemoved(id: string, at: Date): ServiceError {
  const message = `What training job ${id} trained on was removed at ${at.toISOString()}, as the server's settings of retention say. Send a new job with the data.`;
  return new ServiceError({ code: "conflict", message });
}

/** How a job returns to the queue. */
export interface JobRelease {
  /** Current time. If a clock later shows an earlier time, it has stepped back, and the wait ends. */
  readonly at: Date;
  /** Earliest time of the next claim. */
  readonly notBefore: Date;
  /**
   * `lost` with its process, or `returned`, which does not count as an attempt because its end says nothing about the
   * job.
   */
  readonly attempt: "lost" | "returned";
  readonly waitingFor: string | null;
}

/** Success of an attempt by `owner`. */
export interface JobSuccess {
  readonly owner: string;
  /** Null for a replay. */
  readonly version: ModelVersion | null;
  /** Set for a replay. */
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
  /** Stable and unique: the page cursor. */
  readonly id: string;
  readonly type: JobEventType;
  /** Only numbers, except `error_message` of `training_failed`. */
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
  /** Project of that entity; absent for any. */
  readonly project?: string | null;
  readonly modelId: string | null;
  readonly kind: JobKind | null;
  readonly state: JobState | null;
}

export interface JobCreation {
  /** Maximum number of queued jobs; absent for no limit. */
  readonly queuedMax?: number;
  /** Maximum number of queued jobs of an entity's models; the entity's own limit takes precedence. */
  readonly queuedPerEntityMax?: number;
  /** Summaries of the trajectories in the lines, in order, if there are any; read once. */
  readonly outlines?: Iterable<TrajectoryOutline>;
  /** Set for a job from feedback. */
  readonly feedback?: FeedbackOrigin;
  /** Key to which the job's tokens are charged; by default the key of the job that it repeats or retries. */
  readonly keyId?: string;
}

export interface JobStore {
  /**
   * Stores a job with its training data, one folded JSON line for each group, conversation or preference; durable when
   * it resolves. A retry shares the lines, the content hash and the feedback of the job that it retries.
   *
   * With an idempotency key that was used before, the same body hash returns the earlier job's id.
   *
   * @throws ServiceError `conflict` if the idempotency key was used with another body hash, the data of the repeated
   * or retried job was removed, another job has taken the feedback, or another server now owns the automatic rule
   * @throws ServiceError `overloaded` if as many jobs are queued as the server, the entity or the key may have
   */
  create(
    job: JobDraft,
    lines: Iterable<string>,
    idempotency: IdempotencyKey | null,
    options?: JobCreation,
  ): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /**
   * Returns the id of the job that was created with the key; null if there is none. @throws ServiceError `conflict` as
   * `create` does
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
   * Claims the oldest queued job of a model without a running job, marks it running for `owner`, and counts the
   * attempt. Entities take turns, and so do the models of each; only jobs over base models of the owner's lease are
   * claimed. The reason for waiting is kept because it may recur; returns null if there is no such job, or the owner
   * has no lease.
   */
  claim(owner: string, at: Date): Promise<TrainingJob | null>;
  /** Returns the job while it runs for this owner, otherwise null. */
  findRunning(id: string, owner: string): Promise<TrainingJob | null>;
  /**
   * Stores the pins if the job has none, and returns the pins in force; a result step that is taken by then becomes
   * the next one. @throws ServiceError `conflict` if the job is not running for this owner
   */
  pin(id: string, owner: string, pins: JobPins): Promise<JobPins>;
  /**
   * Returns running jobs to the queue whose owner has no lease or says that it runs others, and counts a restart for
   * each attempt without progress. Returns their ids. Reasons for waiting that owners without a lease recorded are
   * cleared, except those of lost attempts, which may have killed the server.
   *
   * @param options.notBefore earliest next claim of a job with this many restarts, this one included
   */
  rescue(options: {
    readonly at: Date;
    readonly notBefore: (restartCount: number) => Date;
    readonly runs?: { readonly owner: string; readonly ids: readonly string[] };
  }): Promise<readonly string[]>;
  /**
   * Returns a job that this owner runs to the queue, and counts a lost attempt unless it has made progress. Returns
   * false if the job is not this owner's.
   */
  release(id: string, owner: string, release: JobRelease): Promise<boolean>;
  /** Counts queued jobs by {@link TrainingJob.waitingFor}, most frequent first. */
  countWaiting(): Promise<readonly { readonly waitingFor: string; readonly count: number }[]>;
  /** Adds a warning to the job, once. */
  addWarning(id: string, warning: string): Promise<void>;
  /**
   * Does nothing if the job is not running for this owner; another may own it by now.
   *
   * @param counts null leaves them unchanged
   */
  updateProgress(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Like `updateProgress`, after a snapshot or record progress in preparing: resets the counts of lost processes and
   * restarts and the reason for waiting.
   */
  advance(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Appends an event once per `sequence`, so a resumed job repeats no event (0 is `training_started`, then one per
   * gradient step; events of preparing are below 0).
   *
   * @throws ServiceError `conflict` if the job is not running for this owner
   */
  appendEvent(id: string, owner: string, sequence: number, event: Omit<JobEvent, "id">): Promise<void>;
  listEvents(id: string, page: PageRequest): Promise<Page<JobEvent>>;
  /**
   * Writes in one transaction: the version or the comparison, the state `succeeded`, the result step and the event
   * `training_ended`. @throws ServiceError `conflict` if the job is not running for this owner, or the version's step
   * exists
   */
  succeed(id: string, success: JobSuccess): Promise<void>;
  /**
   * Writes in one transaction: the state and the event `training_failed` with the message. @throws ServiceError
   * `conflict` if the job has ended, or if `owner` is given and the job is not running for it
   *
   * @param options.discard called before the job ends, while nobody else can claim it or the next job of its model;
   * its errors do not stop the end
   */
  end(
    id: string,
    state: "failed" | "cancelled",
    errorMessage: string,
    at: Date,
    options?: { readonly owner?: string; readonly discard?: () => Promise<void> },
  ): Promise<void>;
  /** Cancels a queued job immediately and marks a running one; returns the resulting state. */
  requestCancel(id: string, at: Date): Promise<JobState | null>;
}

/** A job with the version from which it trains. */
export interface JobRun {
  /** The task, and its own lines or those of the job that it repeats. */
  readonly job: TrainingJob;
  /** Version of `pins.startStep`, from which training starts. */
  readonly from: ModelVersion;
  /** Kind of job that made that version; null if none did. */
  readonly fromKind: JobKind | null;
  readonly pins: JobPins;
}

/** Everything that an attempt at a job needs. */
export interface JobAssignment extends JobRun {
  readonly model: TrainedModel;
  /** Set for a replay, whose pins are those of the job that it repeats; null for a job that publishes a version. */
  readonly replay: ReplayAssignment | null;
}

export interface ReplayAssignment {
  /** Version to compare the result with. */
  readonly version: ModelVersion;
  /**
   * Jobs to repeat first, in order, because their optimizer state was not kept. Each starts from the previous result,
   * and so does the job itself.
   */
  readonly earlier: readonly JobRun[];
}

/** Makes an attempt's event durable, in the order of the calls. @throws ServiceError as the event documents */
export type JobReport = (event: AttemptEvent) => Promise<void>;

/** Reports of a running attempt. */
export type AttemptEvent =
  /**
   * Lines prepared so far: reported at least when all are, and at every tenth of a thousand or more. `secondsLeft` is
   * an estimate from the speed so far.
   */
  | {
      readonly kind: "prepared";
      readonly count: number;
      readonly total: number;
      readonly secondsLeft: number;
    }
  /** `training_started`: the number of gradient steps, and the event's data. The same numbers on every attempt. */
  | {
      readonly kind: "started";
      readonly stepCount: number;
      readonly counts: JobCounts;
      readonly metrics: Readonly<Record<string, number>>;
    }
  /** After the start. @throws ServiceError `conflict` if another server owns the job by now; nothing may be published */
  | { readonly kind: "entered"; readonly phase: JobPhase }
  /**
   * `gradient_step` number `index`, from 0; every value is finite. `secondsLeft` estimates the remaining steps from
   * the speed of the last ones; absent before a measurement.
   */
  | {
      readonly kind: "stepped";
      readonly index: number;
      readonly metrics: Readonly<Record<string, number>>;
      readonly secondsLeft?: number | undefined;
    }
  /** The first `stepCount` steps are in a snapshot for another attempt. */
  | { readonly kind: "saved"; readonly stepCount: number }
  /** A warning for the job's sender; stored once even if several attempts report it. */
  | { readonly kind: "warned"; readonly warning: string }
  /** A line for the server's log without effect on the result. */
  | { readonly kind: "noted"; readonly message: string }
  /**
   * Asked before anything is published, which could overwrite a successor's result. @throws ServiceError `conflict` if
   * another server owns the job by now
   */
  | { readonly kind: "asks-for-job" };

export interface JobOutcome {
  /** Relative to the data folder; complete and on disk. */
  readonly adapterFolder: string;
  /** Trainer state from which the next job resumes; see {@link ModelVersion.trainerState}. */
  readonly trainerState: string | null;
  /** Weights of the base model that it trained over; see {@link ModelVersion.base}. */
  readonly base: string;
  /** Hex SHA-256 of the adapter's files. */
  readonly adapterHash: string;
  readonly counts: JobCounts;
  /** Set for a replay. */
  readonly comparison?: ReplayComparison;
  /** Metrics of the version and of `training_ended`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** Pins that the runner determines. */
export type RunnerPins = Pick<JobPins, "settings" | "baseHash" | "trainerBuild">;

export interface JobRunner {
  /** Profile of the trainer; jobs that it cannot run are refused on submission. */
  readonly trainer: TrainerProfile;
  /** Refuses jobs over a base model that this trainer can never train: `unsupported`, with the cure. */
  requireTrainable?(baseModel: string): void;
  /** Returns the pins for a job of this model that starts now, from this version. @throws ServiceError as `run` does */
  pinsFor(model: TrainedModel, from: ModelVersion, task: JobTask): Promise<RunnerPins>;
  /**
   * Runs one attempt to its end. The result must be kept or discarded; if the server dies first, the next start
   * removes it unless its model exists.
   *
   * @throws ServiceError `unavailable` if the attempt was lost (its process died) and another may succeed, or, with an
   * obstacle, if the job has to wait; `cancelled` if the signal aborted; any other code if the job itself cannot work
   */
  run(
    assignment: JobAssignment,
    report: JobReport,
    options: { readonly signal: AbortSignal },
  ): Promise<JobOutcome>;
  /** Marks an attempt's result as owned by its version or the next attempt. */
  keep(assignment: JobAssignment): Promise<void>;
  /**
   * Removes the leftovers of attempts at a job that ends without a version; called while nobody else can claim the
   * job.
   */
  discard(assignment: JobAssignment): Promise<void>;
  /** Removes the snapshots of a job; called when the job has ended. */
  discardWork(jobId: string): Promise<void>;
  /**
   * Asks the trainer to delete one of its states that no version has any more. No error if it is gone; a state of
   * another trainer is kept and logged.
   */
  discardState(trainerState: string): Promise<void>;
}
