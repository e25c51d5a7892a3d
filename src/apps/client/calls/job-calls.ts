// Training jobs: creating, reading, following, cancelling and repeating them.
import type { TrainingEvent, TrainingJob } from "../api.ts";
import type { RequestOptions } from "../connection.ts";
import { HoneError } from "../hone-error.ts";
import { CallGroup, inputOf } from "./call-group.ts";
import type { AnswerOf, BodyOf } from "./calls.ts";
import { followJob, type FollowOptions, type WatchOptions } from "./follow-job.ts";

const all = "/v1/preview/training-jobs";
const one = "/v1/preview/training-jobs/{job_id}";
const preference = "/v1/preview/preference-training-jobs";

export interface CreateJobOptions extends RequestOptions {
  /** By which a job that is sent twice is one job; a fresh one unless given. */
  readonly idempotencyKey?: string;
}

type CreationRoute =
  | `POST ${typeof all | typeof preference}${"" | "/from-feedback"}`
  | "POST /v1/preview/sft-training-jobs";

/** `hone.jobs` */
export class JobCalls extends CallGroup {
  /** Has a model trained on trajectories with rewards; the job is on disk when this resolves. */
  readonly create = this.#creating(`POST ${all}`);
  /** Has a model taught conversations; the job goes on as any other. */
  readonly createSupervised = this.#creating("POST /v1/preview/sft-training-jobs");
  /** Has a model trained on the feedback on its recorded answers; the id is null if there is nothing to train on. */
  readonly createFromFeedback = this.#creating(`POST ${all}/from-feedback`);
  /** Has a model learn which of two answers people preferred; the job goes on as any other. */
  readonly createPreference = this.#creating(`POST ${preference}`);
  /** The same of the feedback on its recorded answers; the id is null if there is nothing to train on. */
  readonly createPreferenceFromFeedback = this.#creating(`POST ${preference}/from-feedback`);
  /** The newest first unless asked. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** One that has ended stays as it is. */
  readonly cancel = this.call(`POST ${one}/cancel`, { isRepeatable: true });
  /** Has a job that succeeded done once more beside its model, to compare with its version; the answer is a job's id. */
  readonly replay = this.call(`POST ${one}/replay`);
  /** Has a job that failed or was cancelled tried again; the answer is the new job's id. */
  readonly retry = this.call(`POST ${one}/retry`, { isRepeatable: true });
  /** The events so far, the oldest first unless asked. */
  readonly events = this.pages(`GET ${one}/events`);

  /** The events as they come, over one connection; `follow` goes on where that breaks. */
  watch(jobId: string, { after, ...options }: WatchOptions = {}): AsyncGenerator<TrainingEvent> {
    const query = after === undefined ? {} : { after };
    return this.calls.events(`GET ${one}/events`, { path: { job_id: jobId }, query }, options);
  }

  /**
   * The events as they come until the job has ended, across restarts of the server: the last one is `training_ended` or
   * `training_failed`.
   *
   * @throws HoneError for what the server refuses, and when nobody answered for the deadline
   */
  follow(jobId: string, options: FollowOptions = {}): AsyncGenerator<TrainingEvent> {
    return followJob(this, jobId, options, this.calls.platform);
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

  /** A call that makes one job, however often it is sent. */
  #creating<R extends CreationRoute>(route: R) {
    return (body: BodyOf<R>, options: CreateJobOptions = {}): Promise<AnswerOf<R>> => {
      const { idempotencyKey = this.calls.platform.newId(), headers, ...others } = options;
      const sent = { ...others, headers: { "idempotency-key": idempotencyKey, ...headers } };
      return this.calls.call(route, inputOf<R>({ body }), { ...sent, isRepeatable: true });
    };
  }
}
