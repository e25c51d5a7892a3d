// Training jobs: creating, reading, following, cancelling and repeating them.
import type {
  FeedbackJob,
  FeedbackJobCreate,
  FeedbackPreferenceJob,
  FeedbackPreferenceJobCreate,
  Page,
  PreferenceJobCreate,
  SupervisedJobCreate,
  TrainingEvent,
  TrainingJob,
  TrainingJobCreate,
} from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { HoneError } from "../hone-error.ts";
import type { Pages } from "../pages.ts";
import type { Platform } from "../platform.ts";
import { CallGroup } from "./call-group.ts";
import type { AnswerOf, Calls, QueryOf } from "./calls.ts";
import { followJob, type FollowOptions, type WatchOptions } from "./follow-job.ts";

const all = "/v1/preview/training-jobs";
const one = "/v1/preview/training-jobs/{job_id}";
const preference = "/v1/preview/preference-training-jobs";

export interface CreateJobOptions extends RequestOptions {
  /** By which a job that is sent twice is one job; a fresh one unless given. */
  readonly idempotencyKey?: string;
}

type Created = AnswerOf<`POST ${typeof all}`>;

/** `hone.jobs` */
export class JobCalls extends CallGroup {
  readonly #platform: Platform;

  constructor(calls: Calls, platform: Platform) {
    super(calls);
    this.#platform = platform;
  }

  /** Has a model trained on trajectories with rewards; the job is on disk when this resolves. */
  create(body: TrainingJobCreate, options?: CreateJobOptions): Promise<Created> {
    return this.calls.value(`POST ${all}`, { body }, this.#once(options));
  }

  /** Has a model taught conversations; the job goes on as any other. */
  createSupervised(body: SupervisedJobCreate, options?: CreateJobOptions): Promise<Created> {
    return this.calls.value("POST /v1/preview/sft-training-jobs", { body }, this.#once(options));
  }

  /** Has a model trained on the feedback on its recorded answers; where there is nothing to train on, the id is null. */
  createFromFeedback(body: FeedbackJobCreate, options?: CreateJobOptions): Promise<FeedbackJob> {
    return this.calls.value(`POST ${all}/from-feedback`, { body }, this.#once(options));
  }

  /** Has a model learn which of two answers people preferred; the job goes on as any other. */
  createPreference(body: PreferenceJobCreate, options?: CreateJobOptions): Promise<Created> {
    return this.calls.value(`POST ${preference}`, { body }, this.#once(options));
  }

  /** The same of the feedback on its recorded answers; where there is nothing to train on, the id is null. */
  createPreferenceFromFeedback(
    body: FeedbackPreferenceJobCreate,
    options?: CreateJobOptions,
  ): Promise<FeedbackPreferenceJob> {
    return this.calls.value(`POST ${preference}/from-feedback`, { body }, this.#once(options));
  }

  /** The newest first unless asked. */
  list(
    query: QueryOf<`GET ${typeof all}`> = {},
    options?: RequestOptions,
  ): Pages<TrainingJob, Page<TrainingJob>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  get(jobId: string, options?: RequestOptions): Promise<TrainingJob> {
    return this.calls.value(`GET ${one}`, jobAt(jobId), options);
  }

  /** One that has ended stays as it is. */
  cancel(jobId: string, options?: RequestOptions): Promise<TrainingJob> {
    return this.calls.value(`POST ${one}/cancel`, jobAt(jobId), { isRepeatable: true, ...options });
  }

  /** Has a job that succeeded done once more beside its model, to compare with its version; the answer is a job's id. */
  replay(jobId: string, options?: RequestOptions): Promise<AnswerOf<`POST ${typeof one}/replay`>> {
    return this.calls.value(`POST ${one}/replay`, jobAt(jobId), options);
  }

  /** Has a job that failed or was cancelled tried again; the answer is the new job's id. */
  retry(jobId: string, options?: RequestOptions): Promise<AnswerOf<`POST ${typeof one}/retry`>> {
    return this.calls.value(`POST ${one}/retry`, jobAt(jobId), { isRepeatable: true, ...options });
  }

  /** The events so far, the oldest first unless asked. */
  events(
    jobId: string,
    query: QueryOf<`GET ${typeof one}/events`> = {},
    options?: RequestOptions,
  ): Pages<TrainingEvent, Page<TrainingEvent>> {
    return this.calls.pages(`GET ${one}/events`, { ...jobAt(jobId), query }, options);
  }

  /** The events as they come, over one connection; `follow` goes on where that breaks. */
  watch(jobId: string, { after, ...options }: WatchOptions = {}): AsyncGenerator<TrainingEvent> {
    const query = after === undefined ? {} : { after };
    return this.calls.events(`GET ${one}/events`, { ...jobAt(jobId), query }, options);
  }

  /**
   * The events as they come until the job has ended, across restarts of the server: the last one is `training_ended` or
   * `training_failed`.
   *
   * @throws HoneError for what the server refuses, and when nobody answered for the deadline
   */
  follow(jobId: string, options: FollowOptions = {}): AsyncGenerator<TrainingEvent> {
    return followJob(this, jobId, options, this.#platform);
  }

  /**
   * Waits for a job's success.
   *
   * @param options.onEvent called with each event on the way
   * @throws HoneError `job_failed` with its reason where it failed or was cancelled
   */
  async wait(
    jobId: string,
    { onEvent, ...options }: FollowOptions & { readonly onEvent?: (event: TrainingEvent) => void } = {},
  ): Promise<TrainingJob> {
    for await (const event of this.follow(jobId, options)) onEvent?.(event);
    const job = await this.get(jobId, options);
    if (job.state === "succeeded") return job;
    const message = `Training job ${jobId} ${job.state}: ${job.error_message ?? "no reason was given"}`;
    throw new HoneError({ code: "job_failed", message, body: job });
  }

  /** A request that makes one job, however often it is sent. */
  #once({ idempotencyKey, headers, ...options }: CreateJobOptions = {}): RequestOptions & {
    readonly isRepeatable: true;
  } {
    const key = { "idempotency-key": idempotencyKey ?? this.#platform.newId() };
    return { ...options, headers: { ...key, ...headers }, isRepeatable: true };
  }
}

function jobAt(jobId: string) {
  return { path: { job_id: jobId } };
}
