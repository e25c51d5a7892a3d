// Typed calls to the server's API: chat, models, training jobs, logs. Runs wherever there is `fetch`.
import type {
  AcceptedBaseResource,
  ChatAnswer,
  ChatBody,
  ChatChunk,
  CheckpointDeletionResource,
  CheckpointResource,
  FileResource,
  JobEventResource,
  ModelResource,
  PageResource,
  SupervisedJobBody,
  ServedModelResource,
  TrainingConfigBody,
  TrainingJobResource,
  TrajectoryFilterBody,
  TrajectoryGroupBody,
} from "./resources.ts";
import { readServerSentEvents } from "./server-sent-events.ts";
import {
  createTransport,
  HoneApiError,
  type CallOptions,
  type Transport,
  type TransportOptions,
} from "./transport.ts";

/** The pieces of an answer's body, as they come. */
function bodyOf({ body }: Response): AsyncIterable<Uint8Array> {
  if (body === null) throw new Error("The answer has no body.");
  return body;
}

type Cancellable = { readonly signal?: AbortSignal };

/** A connection to one server with one key. Every method throws HoneApiError for an answer that is not a success. */
export class HoneClient {
  readonly #transport: Transport;

  constructor(options: TransportOptions) {
    this.#transport = createTransport(options);
  }

  /** One chat completion, whole. */
  chat(body: ChatBody, options: Cancellable = {}): Promise<ChatAnswer> {
    return this.#transport.json("POST", "/v1/chat/completions", { body, ...options });
  }

  /** One chat completion as it is made. An error event of the stream is thrown. */
  async *streamChat(body: ChatBody, options: Cancellable = {}): AsyncGenerator<ChatChunk> {
    const response = await this.#transport.open("POST", "/v1/chat/completions", {
      body: { ...body, stream: true },
      ...options,
    });
    for await (const data of readServerSentEvents(bodyOf(response))) {
      if (data === "[DONE]") return;
      const event = JSON.parse(data) as ChatChunk & { readonly error?: { readonly message: string } };
      if (event.error !== undefined) {
        throw new HoneApiError({
          status: response.status,
          message: event.error.message,
          requestId: response.headers.get("x-request-id"),
          body: event,
        });
      }
      yield event;
    }
  }

  /** The names of the base models. */
  listBaseModels(options: Cancellable = {}): Promise<readonly string[]> {
    return this.#transport.json("GET", "/v1/preview/base-models", options);
  }

  /** Registers a model to train, or returns the one of that name; one that starts from another's version is always new. */
  registerModel(
    model: {
      readonly entity?: string;
      readonly project: string;
      readonly name: string;
      readonly base_model: string;
      readonly lora_rank?: number;
      readonly lora_alpha?: number;
      /** The projections that its adapters are on, such as `q_proj`. */
      readonly target_modules?: readonly string[];
      /** A version of another model over the same base; without a step the newest. */
      readonly from?: { readonly model: string; readonly step?: number };
    },
    options: Cancellable = {},
  ): Promise<ModelResource> {
    return this.#transport.json("POST", "/v1/preview/models", {
      body: { ...model, return_existing: model.from === undefined },
      ...options,
    });
  }

  listModels(
    filter: { readonly entity?: string; readonly project?: string; readonly name?: string } = {},
    options: Cancellable = {},
  ): Promise<readonly ModelResource[]> {
    return this.#all("/v1/preview/models", filter, options);
  }

  findModel(modelId: string, options: Cancellable = {}): Promise<ModelResource> {
    return this.#transport.json("GET", `/v1/preview/models/${encodeURIComponent(modelId)}`, options);
  }

  /** What a name stands for that a chat takes as its model. */
  findServedModel(name: string, options: Cancellable = {}): Promise<ServedModelResource> {
    return this.#transport.json("GET", `/v1/models/${encodeURIComponent(name)}`, options);
  }

  deleteModel(modelId: string, options: Cancellable = {}): Promise<unknown> {
    return this.#transport.json("DELETE", `/v1/preview/models/${encodeURIComponent(modelId)}`, options);
  }

  /** The live versions, oldest first. */
  listCheckpoints(modelId: string, options: Cancellable = {}): Promise<readonly CheckpointResource[]> {
    return this.#all(`/v1/preview/models/${encodeURIComponent(modelId)}/checkpoints`, {}, options);
  }

  /** Has versions that were trained over other weights of the model's base answer over those of now. */
  acceptBase(modelId: string, options: Cancellable = {}): Promise<AcceptedBaseResource> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/accept-base`;
    return this.#transport.json("POST", path, options);
  }

  /** Pins a version, so that it is kept until it is unpinned, or unpins it. */
  pinCheckpoint(
    modelId: string,
    step: number,
    isPinned: boolean,
    options: Cancellable = {},
  ): Promise<CheckpointResource> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/checkpoints/${step}/pin`;
    return this.#transport.json(isPinned ? "PUT" : "DELETE", path, options);
  }

  /** A version's files as a tar archive, as it comes. */
  async exportCheckpoint(
    modelId: string,
    step: number,
    format: "peft" | "merged",
    options: Cancellable = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/checkpoints/${step}/export`;
    return bodyOf(await this.#transport.open("GET", path, { query: { format }, ...options }));
  }

  /** Imports a PEFT folder, as a tar archive, as the model's next version. */
  importCheckpoint(
    modelId: string,
    archive: AsyncIterable<Uint8Array>,
    options: Cancellable = {},
  ): Promise<CheckpointResource> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/checkpoints`;
    const upload = { type: "application/x-tar", pieces: archive };
    return this.#transport.json("POST", path, { upload, ...options });
  }

  /** Deletes versions; those that are pinned, or that a job starts from, stay. */
  deleteCheckpoints(
    modelId: string,
    steps: readonly number[],
    options: Cancellable = {},
  ): Promise<CheckpointDeletionResource> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/checkpoints`;
    return this.#transport.json("DELETE", path, { body: { steps }, ...options });
  }

  /** Logs trajectories under a split; returns the metrics of them. */
  async log(
    modelId: string,
    body: { readonly split?: string; readonly trajectory_groups: readonly TrajectoryGroupBody[] },
    options: Cancellable = {},
  ): Promise<Readonly<Record<string, number>>> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/log`;
    const answer = await this.#transport.json<{ readonly metrics: Readonly<Record<string, number>> }>(
      "POST",
      path,
      { body, ...options },
    );
    return answer.metrics;
  }

  /** Stored trajectories as a file, as it comes: a JSON object a line, or Parquet; or what groups hold beside them. */
  async exportTrajectories(
    modelId: string,
    format: "jsonl" | "parquet" | "groups",
    filter: TrajectoryFilterBody = {},
    options: Cancellable = {},
  ): Promise<AsyncIterable<Uint8Array>> {
    const path = `/v1/preview/models/${encodeURIComponent(modelId)}/trajectories/export`;
    return bodyOf(await this.#transport.open("GET", path, { query: { ...filter, format }, ...options }));
  }

  /** Creates a training job; it is on disk when this returns. */
  async createTrainingJob(
    body: {
      readonly model_id: string;
      readonly trajectory_groups: readonly TrajectoryGroupBody[];
      readonly experimental_config?: TrainingConfigBody;
    },
    options: Cancellable = {},
  ): Promise<string> {
    return (
      await this.#transport.json<{ readonly id: string }>("POST", "/v1/preview/training-jobs", {
        body,
        ...options,
      })
    ).id;
  }

  /** Creates a supervised fine-tuning job; it is on disk when this returns, and goes on as any training job. */
  async createSupervisedJob(body: SupervisedJobBody, options: Cancellable = {}): Promise<string> {
    const path = "/v1/preview/sft-training-jobs";
    return (await this.#transport.json<{ readonly id: string }>("POST", path, { body, ...options })).id;
  }

  /** Uploads a file that jobs can be made of, a conversation a line as JSON; it is on disk when this returns. */
  uploadFile(content: Blob, name: string, options: Cancellable = {}): Promise<FileResource> {
    const form = new FormData();
    form.set("purpose", "fine-tune");
    form.set("file", content, name);
    return this.#transport.json("POST", "/v1/files", { form, ...options });
  }

  /** The newest last. */
  listFiles(options: Cancellable = {}): Promise<readonly FileResource[]> {
    return this.#all("/v1/files", { order: "asc" }, options);
  }

  /** Jobs that were made of it keep what they train on. */
  deleteFile(fileId: string, options: Cancellable = {}): Promise<unknown> {
    return this.#transport.json("DELETE", `/v1/files/${encodeURIComponent(fileId)}`, options);
  }

  findTrainingJob(jobId: string, options: Cancellable = {}): Promise<TrainingJobResource> {
    return this.#transport.json("GET", `/v1/preview/training-jobs/${encodeURIComponent(jobId)}`, options);
  }

  listTrainingJobs(
    filter: { readonly model_id?: string; readonly kind?: string; readonly state?: string } = {},
    options: Cancellable = {},
  ): Promise<readonly TrainingJobResource[]> {
    return this.#all("/v1/preview/training-jobs", filter, options);
  }

  cancelTrainingJob(jobId: string, options: Cancellable = {}): Promise<TrainingJobResource> {
    return this.#transport.json("POST", `/v1/preview/training-jobs/${encodeURIComponent(jobId)}/cancel`, {
      body: {},
      ...options,
    });
  }

  /** Has a job that succeeded repeated, to compare with its version; returns the replay's id, a job itself. */
  replayTrainingJob(jobId: string, options: Cancellable = {}): Promise<string> {
    return this.#jobAfter(jobId, "replay", options);
  }

  /** Has a job that failed or was cancelled tried again; returns the new job's id. */
  retryTrainingJob(jobId: string, options: Cancellable = {}): Promise<string> {
    return this.#jobAfter(jobId, "retry", options);
  }

  async #jobAfter(jobId: string, action: "replay" | "retry", options: Cancellable): Promise<string> {
    const path = `/v1/preview/training-jobs/${encodeURIComponent(jobId)}/${action}`;
    const { id } = await this.#transport.json<{ readonly id: string }>("POST", path, {
      body: {},
      ...options,
    });
    return id;
  }

  /**
   * The job's events as they come; ends after `training_ended` or `training_failed`.
   *
   * @param options.after the id of the last event that came, to go on behind it
   * @param options.onOpen called once the server has answered
   */
  async *watchTrainingJob(
    jobId: string,
    {
      after,
      onOpen,
      ...options
    }: Cancellable & { readonly after?: string; readonly onOpen?: () => void } = {},
  ): AsyncGenerator<JobEventResource> {
    const response = await this.#transport.open(
      "GET",
      `/v1/preview/training-jobs/${encodeURIComponent(jobId)}/events`,
      { headers: { accept: "text/event-stream" }, query: { after }, ...options },
    );
    onOpen?.();
    for await (const data of readServerSentEvents(bodyOf(response))) {
      if (data === "[DONE]") return;
      yield JSON.parse(data) as JobEventResource;
    }
  }

  /** Waits for the end of a job and returns its gradient steps; throws when it failed. */
  async waitForTrainingJob(jobId: string, options: Cancellable = {}): Promise<readonly JobEventResource[]> {
    const steps: JobEventResource[] = [];
    for await (const event of this.watchTrainingJob(jobId, options)) {
      if (event.type === "gradient_step") steps.push(event);
      if (event.type === "training_ended") return steps;
      if (event.type === "training_failed")
        throw new Error(`Training job ${jobId} failed: ${event.data["error_message"] ?? "no reason given"}`);
    }
    throw new Error(`The events of training job ${jobId} ended before the job did.`);
  }

  async #all<T extends { readonly id: string }>(
    path: string,
    query: CallOptions["query"],
    options: Cancellable,
  ): Promise<readonly T[]> {
    const items: T[] = [];
    for (let after: string | null = null; ;) {
      const page: PageResource<T> = await this.#transport.json("GET", path, {
        query: { ...query, after, limit: 100 },
        ...options,
      });
      items.push(...page.data);
      if (!page.has_more) return items;
      after = page.last_id;
    }
  }
}
