// A training job: its states, its events, and the store that makes both durable.
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

/** Which states may follow which. `running -> queued` is a rescue: the attempt was lost, the job was not. */
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

/** What a job is asked to do; what it trains on are stored lines of its kind. */
export type JobTask =
  /** Reinforcement learning; each line is a trajectory group. */
  | { readonly kind: "rl"; readonly config: TrainingConfig }
  /** Supervised fine-tuning; each line is an example conversation. */
  | { readonly kind: "sft"; readonly config: SupervisedConfig }
  /** Preference training; each line is a prompt with a chosen and a rejected answer, or one of them. */
  | { readonly kind: "preference"; readonly config: PreferenceConfig };

export type JobKind = JobTask["kind"];

export const jobKinds = ["rl", "sft", "preference"] as const satisfies readonly JobKind[];

/** What a running job is about: making sequences of its data, taking its steps, or making a version of the result. */
export type JobPhase = "preparing" | "training" | "publishing";

export interface JobProgress {
  readonly phase: JobPhase;
  /** Of what it trains on, how much is made into tokens; null in jobs from before. */
  readonly prepared: PreparedProgress | null;
  readonly gradientStepCount: number;
  /** Null until all is prepared: only then its steps are cut. */
  readonly gradientStepCountTotal: number | null;
  /** Of the steps taken, how many are kept: an attempt after a loss goes on behind them. */
  readonly savedStepCount: number;
  /** When preparing ends, or its steps, by the speed so far; null while none was measured. */
  readonly endsAt: Date | null;
}

/** Conversations, trajectory groups, or preferences. */
export interface PreparedProgress {
  readonly count: number;
  readonly total: number;
}

/**
 * Why trajectories did not train, and how many; and what did. The conversations of supervised jobs, and the pairs or judged
 * answers of preference jobs, count as trajectories, in no group.
 */
export interface JobCounts {
  readonly groupsSubmitted: number;
  readonly groupsTrainable: number;
  readonly trajectories: number;
  readonly sequences: number;
  readonly trainableTokens: number;
  /** Reason to trajectories of which something did not train for it; one may have several, and train with the rest. */
  readonly skipped: Readonly<Record<string, number>>;
  /** Reason to groups that have such trajectories. */
  readonly skippedGroups: Readonly<Record<string, number>>;
  /** Absent in jobs from before. */
  readonly steps?: StepCounts;
}

/** Tokens that a job learned from, each as often as it did. */
export function trainedTokens({ trainableTokens, steps }: JobCounts): number {
  return trainableTokens * (steps?.passCount ?? 1);
}

/** The optimizer steps of a job. */
export interface StepCounts {
  readonly count: number;
  /** How often each sequence trains. */
  readonly passCount: number;
  /** Of the step that has most. */
  readonly sequencesMax: number;
}

/** What the first attempt at a job fixes for all later ones, so that each trains the same model. */
export interface JobPins {
  /** The version training starts from. */
  readonly startStep: number;
  readonly resultStep: number;
  /** The effective training settings. */
  readonly settings: JsonObject;
  /** Hex SHA-256 of the base model's files. */
  readonly baseHash: string;
  readonly trainerBuild: string;
  /** Hex SHA-256 of what the job is: configuration, trajectories, start step; never of ids or times. */
  readonly seed: string;
  /** Whether that version had its optimizer's state. */
  readonly hasTrainerState: boolean;
}

/** How what a replay made compares with the version that the job made. */
export interface ReplayComparison {
  /** Names in the version's folder. */
  readonly files: readonly string[];
  readonly matrixCount: number;
  /** Matrices, and files without any, that are not the same byte for byte. */
  readonly differentCount: number;
  /** The first 100 of them. */
  readonly different: readonly ReplayDifference[];
}

export interface ReplayDifference {
  readonly file: string;
  /** Null for a file that holds none. */
  readonly matrix: string | null;
  /** Values that differ; null where they cannot be compared one by one. */
  readonly valueCount: number | null;
  /** The greatest difference of two values; null where they cannot be compared one by one, or it is not finite. */
  readonly greatest: number | null;
}

/** The request that a job came by, for the log and for traces. */
export interface MadeBy {
  readonly requestId: string;
  /** Where it was traced, by what a W3C `traceparent` names it. */
  readonly traceparent: string | null;
}

export interface TrainingJob {
  readonly id: string;
  readonly modelId: string;
  readonly state: JobState;
  readonly task: JobTask;
  /** Keys of the configuration that were sent and are not applied. */
  readonly configNotApplied: readonly string[];
  readonly createdAt: Date;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
  /** For people; null unless failed or cancelled. */
  readonly errorMessage: string | null;
  /** Attempts begun, but for those that were given back. */
  readonly attemptCount: number;
  /** Of them, how many were lost with their training process since one kept further steps; limited by itself. */
  readonly lostCount: number;
  /** Of them, how many were lost with their server since one kept further steps; limited by itself. */
  readonly restartCount: number;
  /**
   * What a queued job waits for, for people: a base model that no server has, or what the machine lacks that tried it last;
   * a running one waited for the latter, until it has got further. Null when it waits for its turn only, or has ended.
   */
  readonly waitingFor: string | null;
  /** Warnings for the job's sender, about a job that works; for people. */
  readonly warnings: readonly string[];
  readonly progress: JobProgress | null;
  readonly counts: JobCounts | null;
  /** The step it published. */
  readonly resultStep: number | null;
  /** Set when somebody asked to cancel a running job. */
  readonly cancelRequested: boolean;
  /** Hex SHA-256 over the configuration and the trajectories as stored. */
  readonly contentHash: string;
  /** Null until the first attempt, and of a replay, which uses the pins of the job that it repeats. */
  readonly pins: JobPins | null;
  /** The job that this one repeats, to compare with its version; a replay makes no version. */
  readonly replayOf: string | null;
  /** The job that failed or was cancelled and that this one tries again: it trains on the lines stored with that one. */
  readonly retryOf: string | null;
  /** Of a replay that succeeded. */
  readonly comparison: ReplayComparison | null;
  /** When what it trained on and its events but the last were removed, as retention says; null while they are there. */
  readonly dataRemovedAt: Date | null;
  /** Absent where no request made it, such as for a job of a standing rule. */
  readonly madeBy?: MadeBy;
}

/** A job that is not stored yet: the store hashes its content as it writes it. */
export type JobDraft = Omit<TrainingJob, "contentHash" | "dataRemovedAt">;

/** The refusal of what needs data that is no longer kept. */
export function dataRemoved(id: string, at: Date): ServiceError {
  const message = `What training job ${id} trained on was removed at ${at.toISOString()}, as the server's settings of retention say. Send a new job with the data.`;
  return new ServiceError({ code: "conflict", message });
}

/** How a job goes back to the queue. */
export interface JobRelease {
  /** Now. A clock that shows an earlier time later on has stepped back, and ends the wait. */
  readonly at: Date;
  /** Not claimed before. */
  readonly notBefore: Date;
  /** `lost` with its process, or `returned`, which takes it off the count: its end says nothing of the job. */
  readonly attempt: "lost" | "returned";
  readonly waitingFor: string | null;
}

/** How an attempt of `owner` ended well. */
export interface JobSuccess {
  readonly owner: string;
  /** Null of a replay. */
  readonly version: ModelVersion | null;
  /** Of a replay. */
  readonly comparison?: ReplayComparison;
  readonly counts: JobCounts;
  readonly at: Date;
  /** Of the event `training_ended`. */
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
  /** Numbers only, but for `error_message` of `training_failed`. */
  readonly data: JsonObject;
}

export interface IdempotencyKey {
  readonly keyId: string;
  readonly key: string;
  /** Hex SHA-256 of the request body as received. */
  readonly bodyHash: string;
}

export interface JobFilter {
  /** The entity of the job's model. */
  readonly entity: string | null;
  /** The project of that entity; any unless given. */
  readonly project?: string | null;
  readonly modelId: string | null;
  readonly kind: JobKind | null;
  readonly state: JobState | null;
}

export interface JobCreation {
  /** How many jobs may be queued; absent is any number. */
  readonly queuedMax?: number;
  /** Of the models of one entity; a limit of the entity's own goes before it. */
  readonly queuedPerEntityMax?: number;
  /** Of the trajectories in the lines, in order, where there are some; read once. */
  readonly outlines?: Iterable<TrajectoryOutline>;
  /** Of a job that comes from feedback. */
  readonly feedback?: FeedbackOrigin;
  /** The key that asked for it, whose use its tokens are; that of the job which it repeats or tries again unless given. */
  readonly keyId?: string;
}

export interface JobStore {
  /**
   * Stores the job with what it trains on, a folded line of JSON for each group or conversation, durable when it resolves; one
   * that tries another again has that one's lines and content hash. That one, or one that it repeats, throws `conflict` where
   * its data was removed. With an idempotency key seen before: the same body hash returns the earlier job's id, another one
   * throws `conflict`. A new job where `queuedMax` are queued, or as many of its entity's or its key's as may be, throws
   * `overloaded`. What of feedback another job took meanwhile, or a standing rule that is another server's by now, throws
   * `conflict`. One that tries another again takes that one's feedback.
   */
  create(
    job: JobDraft,
    lines: Iterable<string>,
    idempotency: IdempotencyKey | null,
    options?: JobCreation,
  ): Promise<{ readonly id: string; readonly isNew: boolean }>;
  /**
   * The id of the job that was created with the key; null when there is none. Throws `conflict` as `create` does.
   */
  findCreated(idempotency: IdempotencyKey): Promise<string | null>;
  find(id: string): Promise<TrainingJob | null>;
  /**
   * What the job trains on: each group or conversation as the folded line of JSON it is stored as, one part in memory
   * at a time; null when there is no such job. Reading throws `not_found` when the job goes meanwhile, rather than end
   * early, and `conflict` when its data was removed.
   *
   * @param from how many parts of the stored lines are left out; 0 unless given
   */
  trajectoryLines(id: string, from?: number): Promise<AsyncIterable<string> | null>;
  /** In the order they came; what is null in the filter lets all through. */
  list(filter: JobFilter, page: PageRequest): Promise<Page<TrainingJob>>;
  /**
   * Takes the oldest queued job of a model that has no running job, marks it running for `owner`, and counts the attempt.
   * What it waited for stays, since it may find the same again.
   * Entities take turns, and so do the models of each. Only jobs over base models of the owner's lease are taken. Null when
   * there is none, as for an owner without a lease.
   */
  claim(owner: string, at: Date): Promise<TrainingJob | null>;
  /** The job as long as it runs for this owner, else null. */
  findRunning(id: string, owner: string): Promise<TrainingJob | null>;
  /**
   * Stores the pins if the job has none, and returns those in force: a result step that another version got meanwhile is
   * then the next. Throws `conflict` when the job is not running for this owner.
   */
  pin(id: string, owner: string, pins: JobPins): Promise<JobPins>;
  /**
   * Puts running jobs back in the queue whose owner has no lease, and those of an owner that says it runs others; counts a
   * restart for each whose attempt has not advanced, and returns their ids. What owners without a lease had jobs wait for
   * on their machines is waited for no more; what was lost waits on, since it may be what ends servers.
   *
   * @param options.notBefore until when a job is not claimed that was restarted so often, this time included
   */
  rescue(options: {
    readonly at: Date;
    readonly notBefore: (restartCount: number) => Date;
    readonly runs?: { readonly owner: string; readonly ids: readonly string[] };
  }): Promise<readonly string[]>;
  /**
   * Puts a job this owner runs back in the queue, and counts a lost attempt unless it has advanced; false when it is not
   * this owner's.
   */
  release(id: string, owner: string, release: JobRelease): Promise<boolean>;
  /** How many queued jobs wait for each of the things that {@link TrainingJob.waitingFor} names, the most first. */
  countWaiting(): Promise<readonly { readonly waitingFor: string; readonly count: number }[]>;
  /** Adds to the job's warnings, once. */
  addWarning(id: string, warning: string): Promise<void>;
  /**
   * Changes nothing where the job does not run for this owner: another may have it by now.
   *
   * @param counts null leaves them as they are
   */
  updateProgress(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * The same, of an attempt that has kept further steps, or prepared more than any before: it has advanced, however it
   * ends. The losses before it no longer count, those of processes and of servers, nor what it waited for.
   */
  advance(id: string, owner: string, progress: JobProgress, counts: JobCounts | null): Promise<void>;
  /**
   * Appends an event. `sequence` makes it idempotent: an event of the same job and sequence is written once,
   * so a resumed job repeats nothing (0 is `training_started`, then one per gradient step; those of preparing are below 0).
   *
   * @throws ServiceError `conflict` where the job does not run for this owner
   */
  appendEvent(id: string, owner: string, sequence: number, event: Omit<JobEvent, "id">): Promise<void>;
  listEvents(id: string, page: PageRequest): Promise<Page<JobEvent>>;
  /**
   * In one transaction: the version or the comparison, the state `succeeded`, the result step and the event
   * `training_ended`. Throws `conflict` when the job is not running for this owner, or the version's step exists.
   */
  succeed(id: string, success: JobSuccess): Promise<void>;
  /**
   * In one transaction: the state and the event `training_failed` with the message. Throws `conflict` when the job has
   * ended, or when `owner` is given and the job is not running for it.
   *
   * @param options.discard called where it ends, and before it has: meanwhile nobody else takes the job, or begins the next one
   *   of its model. What it throws ends nothing
   */
  end(
    id: string,
    state: "failed" | "cancelled",
    errorMessage: string,
    at: Date,
    options?: { readonly owner?: string; readonly discard?: () => Promise<void> },
  ): Promise<void>;
  /** Cancels a queued job at once, marks a running one; returns the state after. */
  requestCancel(id: string, at: Date): Promise<JobState | null>;
}

/** A job with the version that it trains from. */
export interface JobRun {
  /** Its task, and its lines or those of the job that it repeats. */
  readonly job: TrainingJob;
  /** The version that training starts from: that of `pins.startStep`. */
  readonly from: ModelVersion;
  /** What kind of job made that version; null when none did. */
  readonly fromKind: JobKind | null;
  readonly pins: JobPins;
}

/** Everything an attempt at a job needs to know. */
export interface JobAssignment extends JobRun {
  readonly model: TrainedModel;
  /** Of a replay, whose pins are those of the job that it repeats; null for a job that makes a version. */
  readonly replay: ReplayAssignment | null;
}

export interface ReplayAssignment {
  /** What the result is compared with. */
  readonly version: ModelVersion;
  /**
   * Runs that are repeated first, in their order, since what they made of the optimizer is not kept: each goes on from
   * the result of the one before, and so does the run itself.
   */
  readonly earlier: readonly JobRun[];
}

/** Makes an attempt's event durable, in the order of the calls. @throws ServiceError as the event says */
export type JobReport = (event: AttemptEvent) => Promise<void>;

/** What an attempt reports while it runs. */
export type AttemptEvent =
  /**
   * So many lines of what the job trains on are prepared: before the start, at the latest when all are, and of a thousand or
   * more at every tenth. `secondsLeft` until all are, by the speed so far.
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
  /** After the start. `conflict` where the job is another server's by now: nothing may be published. */
  | { readonly kind: "entered"; readonly phase: JobPhase }
  /**
   * `gradient_step` number `index`, from 0; every value is finite. `secondsLeft` of the job's steps, by the speed of the last
   * ones; absent while none was measured.
   */
  | {
      readonly kind: "stepped";
      readonly index: number;
      readonly metrics: Readonly<Record<string, number>>;
      readonly secondsLeft?: number | undefined;
    }
  /** As many steps as that, the first ones, are kept for another attempt. */
  | { readonly kind: "saved"; readonly stepCount: number }
  /** A warning for the job's sender; when another attempt reports it again, it is kept once. */
  | { readonly kind: "warned"; readonly warning: string }
  /** A line for the server's log that changes nothing of the result. */
  | { readonly kind: "noted"; readonly message: string }
  /**
   * Before anything is put where others read it, which would replace what a successor put there. `conflict` where the job is
   * another server's by now.
   */
  | { readonly kind: "asks-for-job" };

export interface JobOutcome {
  /** Relative to the data folder; complete and on disk. */
  readonly adapterFolder: string;
  /** What the trainer goes on from beside the adapter; see {@link ModelVersion.trainerState}. */
  readonly trainerState: string | null;
  /** The weights of the base model that it trained over; see {@link ModelVersion.base}. */
  readonly base: string;
  /** Hex SHA-256 of the adapter's files. */
  readonly adapterHash: string;
  readonly counts: JobCounts;
  /** Of a replay. */
  readonly comparison?: ReplayComparison;
  /** Metrics of the version and of `training_ended`. */
  readonly metrics: Readonly<Record<string, number>>;
}

/** What of a job's pins the runner knows. */
export type RunnerPins = Pick<JobPins, "settings" | "baseHash" | "trainerBuild">;

export interface JobRunner {
  /** Who trains; jobs that it cannot do are refused as they come. */
  readonly trainer: TrainerProfile;
  /** Refuses jobs over a base model that this trainer never can: `unsupported`, with the cure. */
  requireTrainable?(baseModel: string): void;
  /** What a job of this model that begins now, from this version, is pinned to. Throws a ServiceError as `run` does. */
  pinsFor(model: TrainedModel, from: ModelVersion, task: JobTask): Promise<RunnerPins>;
  /**
   * Runs one attempt to its end. Throws a ServiceError: `unavailable` when the attempt was lost (its process
   * died) and another may succeed, or, with an obstacle, when the job has to wait; `cancelled` when the signal aborted;
   * any other code when the job itself cannot work. What it makes has to be kept or discarded: should the server die first,
   * a start removes it where its model is gone.
   */
  run(
    assignment: JobAssignment,
    report: JobReport,
    options: { readonly signal: AbortSignal },
  ): Promise<JobOutcome>;
  /** Says that what an attempt made is a version's, or the next attempt's, or nothing. */
  keep(assignment: JobAssignment): Promise<void>;
  /** Removes what attempts left at a job that ends without a version; called while nobody else can take the job. */
  discard(assignment: JobAssignment): Promise<void>;
  /** Removes what attempts at a job keep for the next one; called when the job has ended. */
  discardWork(jobId: string): Promise<void>;
  /**
   * Has the trainer remove a state of its own that no version has any more; one that is gone is no error, and one of another
   * trainer stays, which the log says.
   */
  discardState(trainerState: string): Promise<void>;
}
