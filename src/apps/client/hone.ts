// The client: typed calls to every route of one server with one key. Runs wherever there is `fetch`.
import { CheckpointCalls } from "./calls/checkpoint-calls.ts";
import { Calls } from "./calls/calls.ts";
import { ObjectCalls } from "./calls/feedback/object-calls.ts";
import { FeedbackCalls } from "./calls/feedback/feedback-calls.ts";
import { FileCalls } from "./calls/file-calls.ts";
import { ChatCalls, CompletionCalls, ResponseCalls } from "./calls/generation-calls.ts";
import { JobCalls } from "./calls/job-calls.ts";
import { KeyCalls } from "./calls/key-calls.ts";
import { RetentionCalls } from "./calls/retention-calls.ts";
import { MessageCalls } from "./calls/message-calls.ts";
import { ModelCalls, ServedCalls } from "./calls/model-calls.ts";
import { RuleCalls } from "./calls/rule-calls.ts";
import { RecordingCalls } from "./calls/recording-calls.ts";
import { QueueCalls } from "./calls/feedback/queue-calls.ts";
import { ServerCalls } from "./calls/server-calls.ts";
import { EmbeddingCalls, TextCalls } from "./calls/text-calls.ts";
import { TrajectoryCalls } from "./calls/trajectory-calls.ts";
import { WebhookCalls } from "./calls/events/webhook-calls.ts";
import { Connection, type ConnectionOptions } from "./connection.ts";
import type { Platform } from "./platform.ts";
import { findOrCreateModel, type HoneCalls, type Model, type ModelOptions } from "./trained-model.ts";

/** Every call throws HoneError for an answer that is not a success, and the signal's reason where it is given up. */
export class Hone implements HoneCalls {
  /** Without `/v1`, which other makers' clients put behind it. */
  readonly baseUrl: string;
  readonly apiKey: string | null;
  readonly fetch: Connection["fetch"];
  readonly platform: Platform;
  readonly chat: ChatCalls;
  readonly completions: CompletionCalls;
  readonly responses: ResponseCalls;
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
  readonly rules: RuleCalls;
  readonly queues: QueueCalls;
  readonly webhooks: WebhookCalls;
  readonly keys: KeyCalls;
  readonly retention: RetentionCalls;
  readonly objects: ObjectCalls;
  readonly server: ServerCalls;

  readonly #options: ConnectionOptions;

  /** @throws HoneError `invalid` for a base URL that is none of a server, and for an option that does not exist */
  constructor(options: ConnectionOptions = {}) {
    this.#options = options;
    const connection = new Connection(options);
    const calls = new Calls(connection);
    this.baseUrl = connection.baseUrl;
    this.apiKey = connection.apiKey;
    this.fetch = connection.fetch;
    this.platform = connection.platform;
    this.chat = new ChatCalls(calls);
    this.completions = new CompletionCalls(calls);
    this.responses = new ResponseCalls(calls);
    this.messages = new MessageCalls(calls);
    this.embeddings = new EmbeddingCalls(calls);
    this.texts = new TextCalls(calls);
    this.served = new ServedCalls(calls);
    this.models = new ModelCalls(calls);
    this.checkpoints = new CheckpointCalls(calls);
    this.trajectories = new TrajectoryCalls(calls);
    this.recordings = new RecordingCalls(calls);
    this.jobs = new JobCalls(calls, connection.platform);
    this.files = new FileCalls(calls);
    this.feedback = new FeedbackCalls(calls);
    this.rules = new RuleCalls(calls);
    this.queues = new QueueCalls(calls);
    this.webhooks = new WebhookCalls(calls);
    this.keys = new KeyCalls(calls);
    this.retention = new RetentionCalls(calls);
    this.objects = new ObjectCalls(calls);
    this.server = new ServerCalls(calls);
  }

  /** Returns a client of the same server and key with these options in place of its own. */
  with(options: Omit<ConnectionOptions, "baseUrl" | "baseURL" | "apiKey">): Hone {
    return new Hone({ ...this.#options, ...options });
  }

  /**
   * A model to train: registered with its base, or found where there is one of the name.
   *
   * @param name `project/name`, or `entity/project/name`
   * @throws HoneError `not_found` where there is none and no base was given, `conflict` where it is over another base
   */
  model(name: string, options?: ModelOptions): Promise<Model> {
    return findOrCreateModel(this, name, options);
  }
}
