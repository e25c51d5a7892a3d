// The client: typed calls to one server, with one key. It runs on any platform with `fetch`.
import { CheckpointCalls } from "./calls/checkpoint-calls.ts";
import { Calls } from "./calls/calls.ts";
import { ObjectCalls } from "./calls/feedback/object-calls.ts";
import { FeedbackCalls } from "./calls/feedback/feedback-calls.ts";
import { FileCalls } from "./calls/file-calls.ts";
import { type ChatCalls, GenerationCalls, MessageCalls } from "./calls/generation-calls.ts";
import { JobCalls } from "./calls/training/job-calls.ts";
import { KeyCalls } from "./calls/key-calls.ts";
import { RetentionCalls } from "./calls/retention-calls.ts";
import { ModelCalls, ServedCalls } from "./calls/model-calls.ts";
import { LearningCalls } from "./calls/training/learning-calls.ts";
import { RolloutCalls } from "./calls/training/rollout-calls.ts";
import { RuleCalls } from "./calls/training/rule-calls.ts";
import { RecordingCalls } from "./calls/recording-calls.ts";
import { QueueCalls } from "./calls/feedback/queue-calls.ts";
import { ServerCalls } from "./calls/server-calls.ts";
import { EmbeddingCalls, TextCalls } from "./calls/text-calls.ts";
import { TrajectoryCalls } from "./calls/trajectory-calls.ts";
import { WebhookCalls } from "./calls/webhook-calls.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import { findOrCreateModel, type HoneCalls, type Model, type ModelOptions } from "./trained-model.ts";

/**
 * Client of one server. Every call throws HoneError for an unsuccessful answer, and the signal's reason if it aborts.
 */
export class Hone extends Calls implements HoneCalls {
  /** Base URL without `/v1`, which other vendors' clients append. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly fetch: Connection["fetch"];
  readonly chat: ChatCalls;
  readonly completions: GenerationCalls<"POST /v1/completions">;
  readonly responses: GenerationCalls<"POST /v1/responses">;
  readonly messages: MessageCalls;
  readonly embeddings: EmbeddingCalls;
  readonly texts: TextCalls;
  readonly served: ServedCalls;
  readonly models: ModelCalls;
  readonly checkpoints: CheckpointCalls;
  readonly trajectories: TrajectoryCalls;
  readonly recordings: RecordingCalls;
  readonly jobs: JobCalls;
  readonly files: FileCalls;
  readonly feedback: FeedbackCalls;
  readonly rollouts: RolloutCalls;
  readonly learning: LearningCalls;
  readonly rules: RuleCalls;
  readonly queues: QueueCalls;
  readonly webhooks: WebhookCalls;
  readonly keys: KeyCalls;
  readonly retention: RetentionCalls;
  readonly objects: ObjectCalls;
  readonly server: ServerCalls;

  readonly #options: ConnectionOptions;

  /** @throws HoneError `invalid` for an invalid base URL or an unknown option */
  constructor(options: ConnectionOptions = {}) {
    const connection = new Connection(options);
    super(connection);
    this.#options = options;
    this.baseUrl = connection.baseUrl;
    this.apiKey = connection.apiKey;
    this.fetch = connection.fetch;
    this.chat = new GenerationCalls(this, "POST /v1/chat/completions");
    this.completions = new GenerationCalls(this, "POST /v1/completions");
    this.responses = new GenerationCalls(this, "POST /v1/responses");
    this.messages = new MessageCalls(this, "POST /v1/messages");
    this.embeddings = new EmbeddingCalls(this);
    this.texts = new TextCalls(this);
    this.served = new ServedCalls(this);
    this.models = new ModelCalls(this);
    this.checkpoints = new CheckpointCalls(this);
    this.trajectories = new TrajectoryCalls(this);
    this.recordings = new RecordingCalls(this);
    this.jobs = new JobCalls(this);
    this.files = new FileCalls(this);
    this.feedback = new FeedbackCalls(this);
    this.rollouts = new RolloutCalls(this);
    this.learning = new LearningCalls(this);
    this.rules = new RuleCalls(this);
    this.queues = new QueueCalls(this);
    this.webhooks = new WebhookCalls(this);
    this.keys = new KeyCalls(this);
    this.retention = new RetentionCalls(this);
    this.objects = new ObjectCalls(this);
    this.server = new ServerCalls(this);
  }

  /** Returns a client for the same server and key, with other options. */
  with(options: Omit<ConnectionOptions, "baseUrl" | "baseURL" | "apiKey">): Hone {
    return new Hone({ ...this.#options, ...options });
  }

  /**
   * Registers a model to train on a base model, or returns an existing model of the same name.
   *
   * @param name `project/name`, or `entity/project/name`
   * @throws HoneError `not_found` if the model does not exist and no base is given, `conflict` if it has another base
   * model
   */
  model(name: string, options?: ModelOptions): Promise<Model> {
    return findOrCreateModel(this, name, options);
  }
}
