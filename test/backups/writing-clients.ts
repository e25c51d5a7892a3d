// Clients that write to a server until they are stopped: chats with a model in training, feedback as single records and
// in batches, logs, and jobs. Callers can read the acknowledged operations at any time.
import { setTimeout as sleep } from "node:timers/promises";
import { newUuid } from "../../src/base/domain/random.ts";
import { callReference } from "../../src/base/domain/recordings/call-reference.ts";
import { call, type RunningServer } from "../running-server.ts";

const projectId = "local/p";

/** Ids of the operations acknowledged so far. */
export interface Acknowledged {
  readonly feedback: readonly string[];
  readonly jobs: readonly string[];
  readonly logCount: number;
}

/** Pause between two batches in milliseconds. */
const batchPauseMs = 1000;

/** Number of records in a batch. Each record contains the name of its batch. */
export const batchSize = 200;

export class WritingClients {
  readonly #server: RunningServer;
  readonly #modelId: string;
  readonly #feedback: string[] = [];
  readonly #jobs: string[] = [];
  #logCount = 0;
  #isStopped = false;
  readonly #writing: Promise<unknown>;

  constructor(server: RunningServer, modelId: string) {
    this.#server = server;
    this.#modelId = modelId;
    this.#writing = Promise.all([
      this.#repeat(() => this.#rate()),
      this.#repeat(() => this.#rate()),
      this.#repeat(() => this.#sendBatch()),
      this.#repeat(() => this.#train()),
    ]);
    // Ignored here: `stop` reports errors.
    this.#writing.catch(() => undefined);
  }

  acknowledged(): Acknowledged {
    return { feedback: [...this.#feedback], jobs: [...this.#jobs], logCount: this.#logCount };
  }

  /** @throws the first error of the clients, if any */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#writing;
  }

  async #repeat(write: () => Promise<void>): Promise<void> {
    while (!this.#isStopped) await write();
  }

  /** Sends a chat and gives feedback on the answer. */
  async #rate(): Promise<void> {
    const requestId = newUuid();
    await this.#chat({ request_id: requestId, n: 1 });
    const reference = callReference({ projectId, requestId });
    const record = { id: requestId, project_id: projectId, vendor_ref: reference, feedback_type: "rating" };
    await this.#ask("/feedback/create", { ...record, payload: { stars: requestId.charCodeAt(0) % 5 } });
    this.#feedback.push(requestId);
  }

  async #sendBatch(): Promise<void> {
    const name = newUuid();
    const batch = Array.from({ length: batchSize }, (_, index) => ({
      id: `${name}-${index}`,
      project_id: projectId,
      vendor_ref: `hone:///${projectId}/object/task:${index}`,
      feedback_type: "batch",
      payload: { batch: name },
    }));
    await this.#ask("/feedback/batch/create", { batch });
    this.#feedback.push(...batch.map(({ id }) => id));
    // Pauses, so that there is not too much data to back up.
    await sleep(batchPauseMs);
  }

  /** Logs two answers, and submits a job that trains on them once the previous job has ended. */
  async #train(): Promise<void> {
    const { choices } = await this.#chat({ n: 2 });
    const trajectories = choices.map((choice: unknown, index: number) => ({
      messages_and_choices: [question, choice],
      reward: index,
    }));
    const groups = { trajectory_groups: [{ trajectories }] };
    await this.#ask(`/v1/preview/models/${this.#modelId}/log`, groups);
    this.#logCount += 1;
    const { id } = await this.#ask("/v1/preview/training-jobs", { model_id: this.#modelId, ...groups });
    this.#jobs.push(id);
    for (let state = "queued"; !this.#isStopped && (state === "queued" || state === "running");)
      ({ state } = (await call(this.#server, "GET", `/v1/preview/training-jobs/${id}`)).body);
  }

  #chat(more: object): Promise<any> {
    const sampling = { max_tokens: 4, temperature: 1 };
    return this.#ask("/v1/chat/completions", {
      model: this.#modelId,
      messages: [question],
      ...sampling,
      ...more,
    });
  }

  async #ask(path: string, body: object): Promise<any> {
    const scheme = path.startsWith("/feedback") ? "Basic" : "Bearer";
    const answer = await call(this.#server, "POST", path, { body, scheme });
    if (answer.status !== 200) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  }
}

const question = { role: "user", content: "Who are you?" };
