// Calls for training jobs: create, read, follow, cancel, retry and replay.
import type { TrainingEvent, TrainingJob } from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import { HoneError } from "../../hone-error.ts";
import { CallGroup, inputOf } from "../call-group.ts";
import type { AnswerOf, BodyOf } from "../calls.ts";
import { followJob, type FollowOptions, type WatchOptions } from "./follow-job.ts";

const all = "/v1/preview/training-jobs";
const one = "/v1/preview/training-jobs/{job_id}";
const preference = "/v1/preview/preference-training-jobs";

export interface CreateJobOptions extends RequestOptions {
  /** Requests with the same key create only one job; default: a new key for each call. */
  readonly idempotencyKey?: string;
}

type CreationRoute =
  | `POST ${typeof all | typeof preference}${"" | "/from-feedback"}`
  | "POST /v1/preview/sft-training-jobs";

/** The call group `hone.jobs`. */
export class JobCalls extends CallGroup {
  /**
   * Creates a job that trains a model on trajectories with rewards. The job is on the server's disk when the promise
   * resolves.
   */
  readonly create = this.#creating(`POST ${all}`);
  /** Creates a job that fine-tunes a model on conversations. It is followed like any other job. */
  readonly createSupervised = this.#creating("POST /v1/preview/sft-training-jobs");
  /**
   * Creates a job that trains a model on feedback about its recorded answers. The id is null if there is nothing to
   * train on.
   */
  readonly createFromFeedback = this.#creating(`POST ${all}/from-feedback`);
  /** Creates a job that trains a model on preferences between answers. It is followed like any other job. */
  readonly createPreference = this.#creating(`POST ${preference}`);
  /**
   * Creates a job that trains a model on preferences from feedback about its recorded answers. The id is null if there
   * is nothing to train on.
   */
  readonly createPreferenceFromFeedback = this.#creating(`POST ${preference}/from-feedback`);
  /** Lists jobs, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Cancels a job. Does nothing if the job has ended. */
  readonly cancel = this.call(`POST ${one}/cancel`, { isRepeatable: true });
  /**
   * Repeats a succeeded job without changing its model, to compare the result with the version that the job made.
   * Returns the id of the new job.
   */
  readonly replay = this.call(`POST ${one}/replay`);
  /** Retries a failed or cancelled job as a new job, and returns its id. */
  readonly retry = this.call(`POST ${one}/retry`, { isRepeatable: true });
  /** Lists a job's events so far, oldest first by default. */
  readonly events = this.pages(`GET ${one}/events`);

  /** Streams a job's events over one connection; `follow` reconnects if the connection is lost. */
  watch(jobId: string, { after, ...options }: WatchOptions = {}): AsyncGenerator<TrainingEvent> {
    const query = after === undefined ? {} : { after };
    return this.calls.events(`GET ${one}/events`, { path: { job_id: jobId }, query }, options);
  }

  /**
   * Streams a job's events until it ends, across server restarts. The last event is `training_ended` or
   * `training_failed`.
   *
   * @throws HoneError if the server refuses the request, or if no server answers before the deadline
   */
  follow(jobId: string, options: FollowOptions = {}): AsyncGenerator<TrainingEvent> {
    return followJob(this, jobId, options, this.calls.platform);
  }

  /**
   * Waits until a job succeeds, and returns the job.
   *
   * @param options.onEvent called with each event of the job
   * @throws HoneError `job_failed` with the reason if the job fails or is cancelled
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

  /** Returns a call that creates a job. The request has an idempotency key, so repeating it creates no second job. */
  #creating<R extends CreationRoute>(route: R) {
    return (body: BodyOf<R>, options: CreateJobOptions = {}): Promise<AnswerOf<R>> => {
      const { idempotencyKey = this.calls.platform.newId(), headers, ...others } = options;
      const sent = { ...others, headers: { "idempotency-key": idempotencyKey, ...headers } };
      return this.calls.call(route, inputOf<R>({ body }), { ...sent, isRepeatable: true });
    };
  }
}
