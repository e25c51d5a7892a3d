// Calls about training jobs: create, read, follow, cancel, retry and replay.
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
  /** Jobs sent with the same key are one job; default: a new key. */
  readonly idempotencyKey?: string;
}

type CreationRoute =
  | `POST ${typeof all | typeof preference}${"" | "/from-feedback"}`
  | "POST /v1/preview/sft-training-jobs";

/** `hone.jobs` */
export class JobCalls extends CallGroup {
  /** Trains a model on trajectories with rewards. The job is on disk when this resolves. */
  readonly create = this.#creating(`POST ${all}`);
  /** Fine-tunes a model on conversations; the job is followed like any other. */
  readonly createSupervised = this.#creating("POST /v1/preview/sft-training-jobs");
  /** Trains a model on feedback about its recorded answers; the id is null if there is nothing to train on. */
  readonly createFromFeedback = this.#creating(`POST ${all}/from-feedback`);
  /** Trains a model on preferences between answers; the job is followed like any other. */
  readonly createPreference = this.#creating(`POST ${preference}`);
  /**
   * Trains a model on preferences from feedback about its recorded answers; the id is null if there is nothing to
   * train on.
   */
  readonly createPreferenceFromFeedback = this.#creating(`POST ${preference}/from-feedback`);
  /** Lists jobs, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Cancels a job; does nothing if it has ended. */
  readonly cancel = this.call(`POST ${one}/cancel`, { isRepeatable: true });
  /** Repeats a succeeded job next to its model to compare the result with its version. Returns the id of the new job. */
  readonly replay = this.call(`POST ${one}/replay`);
  /** Retries a failed or cancelled job. Returns the id of the new job. */
  readonly retry = this.call(`POST ${one}/retry`, { isRepeatable: true });
  /** Lists the events so far, oldest first by default. */
  readonly events = this.pages(`GET ${one}/events`);

  /** Streams the events over one connection; `follow` reconnects if it breaks. */
  watch(jobId: string, { after, ...options }: WatchOptions = {}): AsyncGenerator<TrainingEvent> {
    const query = after === undefined ? {} : { after };
    return this.calls.events(`GET ${one}/events`, { path: { job_id: jobId }, query }, options);
  }

  /**
   * Streams the events until the job ends, across server restarts. The last event is `training_ended` or
   * `training_failed`.
   *
   * @throws HoneError if the server refuses, or no server answers before the deadline
   */
  follow(jobId: string, options: FollowOptions = {}): AsyncGenerator<TrainingEvent> {
    return followJob(this, jobId, options, this.calls.platform);
  }

  /**
   * Waits for a job to succeed.
   *
   * @param options.onEvent called with each event
   * @throws HoneError `job_failed` with the reason if the job failed or was cancelled
   */
  async wait(
    jobId: string,
    { onEvent, ...options }: FollowOptions & { readonly onEvent?: (event: TrainingEvent) => void } = {},
  ): Promise<TrainingJob> {
    for await (const event of this.follow(jobId, options)) onEvent?.(event);
    const job = await this.get(jobId, options);
    if (job.state === "succeeded") return job;
    const message = `Training job ${jobId} ${job.state}: ${job.error_message ?? "no reason given"}`;
    throw new HoneError({ code: "job_failed", message, body: job });
  }

  /** Returns a call that creates one job, even if it is sent several times. */
  #creating<R extends CreationRoute>(route: R) {
    return (body: BodyOf<R>, options: CreateJobOptions = {}): Promise<AnswerOf<R>> => {
      const { idempotencyKey = this.calls.platform.newId(), headers, ...others } = options;
      const sent = { ...others, headers: { "idempotency-key": idempotencyKey, ...headers } };
      return this.calls.call(route, inputOf<R>({ body }), { ...sent, isRepeatable: true });
    };
  }
}
