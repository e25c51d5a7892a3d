// Clients of a server that is killed and restarted. They send chats, jobs, logs and feedback, cancel and delete, resend
// unanswered requests, and remember what was acknowledged.
import { setTimeout as sleep } from "node:timers/promises";
import { seededRandom, type Random } from "../../src/base/domain/random.ts";
import { call, type RunningServer } from "../running-server.ts";
import { allItems } from "./all-items.ts";

export interface SentJob {
  readonly body: { readonly model_id: string };
  /** Null until the job was acknowledged. */
  id: string | null;
}

export class Clients {
  isOver = false;
  readonly modelIds: readonly string[];
  /** All jobs that were sent, by idempotency key. */
  readonly jobs = new Map<string, SentJob>();
  /** Jobs whose cancellation was acknowledged. */
  readonly cancelled = new Set<string>();
  /** Models whose deletion was acknowledged. */
  readonly deleted = new Set<string>();
  /** Models that were created during the run and must still exist. */
  readonly kept = new Set<string>();
  readonly logs = new Set<string>();
  readonly feedback = new Set<string>();
  /** Request ids of answers that arrived completely and whose response said that they are recorded. */
  readonly chats = new Set<string>();
  readonly #server: () => RunningServer;
  readonly #random: Random;
  readonly #signal: AbortSignal;

  constructor(
    server: () => RunningServer,
    options: { readonly modelIds: readonly string[]; readonly seed: number; readonly signal: AbortSignal },
  ) {
    this.#server = server;
    this.modelIds = options.modelIds;
    this.#random = seededRandom("clients", options.seed);
    this.#signal = options.signal;
  }

  /**
   * Resolves once `isOver` is set and each client has completed its current operation. Rejects if a client fails, which
   * does not stop the others. Also rejects if the signal aborts because the server does not come back.
   */
  async run(): Promise<void> {
    await Promise.all([
      this.#repeat((index) => this.#sendJob(index)),
      this.#repeat((index) => this.#sendAndWithdraw(index)),
      this.#repeat((index) => this.#sendLog(index)),
      this.#repeat((index) => this.#sendFeedback(index)),
      this.#repeat((index) => this.#sendChat(index)),
    ]);
  }

  /**
   * Resends every job of the existing models.
   *
   * @returns descriptions of the jobs that got a different id than before
   */
  async resendJobs(): Promise<readonly string[]> {
    const changed: string[] = [];
    for (const [key, sent] of this.jobs) {
      if (this.deleted.has(sent.body.model_id)) continue;
      const id = await this.#submit(key, sent.body);
      if (sent.id !== null && sent.id !== id) changed.push(`${key}: ${sent.id}, then ${id}`);
      sent.id = id;
    }
    return changed;
  }

  /**
   * True if every job has ended. Checks job by job: a list by state could miss a job that returns to the queue
   * meanwhile.
   */
  async haveAllEnded(): Promise<boolean> {
    const jobs = await allItems(this.#server(), jobsPath);
    return jobs.every(({ state }) => state !== "queued" && state !== "running");
  }

  /** Returns the approximate number of jobs that wait or run. */
  async #unfinishedCount(): Promise<number> {
    const answers = await Promise.all(
      ["queued", "running"].map((state) => this.#try("GET", `/v1/preview/training-jobs?state=${state}`)),
    );
    return answers.reduce((sum, answer) => sum + (answer?.status === 200 ? answer.body.data.length : 100), 0);
  }

  async #repeat(send: (index: number) => Promise<void>): Promise<void> {
    for (let index = 0; !this.isOver; index++) {
      await send(index);
      await this.#pause();
    }
  }

  /** Sends a job. If the first try is not acknowledged, every other job is resent only at the end. */
  async #sendJob(index: number): Promise<void> {
    const modelId = this.modelIds[index % this.modelIds.length] ?? "";
    const key = `job-${index}`;
    const sent: SentJob = { body: jobOf(modelId, key), id: null };
    this.jobs.set(key, sent);
    const answer = await this.#try("POST", jobsPath, sent.body, { "idempotency-key": key });
    if (answer?.status === 200) sent.id = answer.body.id;
    else if (this.#random.uniform() < 0.5) sent.id = await this.#submit(key, sent.body);
    while (!this.isOver && (await this.#unfinishedCount()) > 3) await this.#pause();
  }

  /** Registers a model, and sends a job that is usually cancelled. Deletes every other such model. */
  async #sendAndWithdraw(index: number): Promise<void> {
    const registration = {
      project: "p",
      name: `passing-${index}`,
      base_model: "tiny",
      return_existing: true,
    };
    const modelId: string = (await this.#insist("POST", "/v1/preview/models", registration)).id;
    const key = `passing-${index}`;
    const sent: SentJob = { body: jobOf(modelId, key), id: null };
    this.jobs.set(key, sent);
    sent.id = await this.#submit(key, sent.body);
    for (let pauses = this.#random.index(10); pauses > 0; pauses--) await this.#pause();
    if (this.#random.uniform() < 0.7) {
      await this.#insist("POST", `${jobsPath}/${sent.id}/cancel`);
      this.cancelled.add(sent.id);
    }
    if (this.#random.uniform() < 0.5) {
      await this.#insist("DELETE", `/v1/preview/models/${modelId}`);
      this.deleted.add(modelId);
    } else this.kept.add(modelId);
    for (let pauses = 0; !this.isOver && pauses < 10; pauses++) await this.#pause();
  }

  /**
   * Sends a log. It has no idempotency key, so it is not resent: without an acknowledgement, it may be stored or not.
   */
  async #sendLog(index: number): Promise<void> {
    const marker = `log-${index}`;
    const body = { trajectory_groups: [{ trajectories: [{ reward: 1, metadata: { marker } }] }] };
    const answer = await this.#try("POST", `/v1/preview/models/${this.modelIds[0]}/log`, body);
    if (answer?.status === 200) this.logs.add(marker);
  }

  async #sendFeedback(index: number): Promise<void> {
    const id = `feedback-${index}`;
    await this.#insist("POST", "/feedback/create", feedbackOf(id, "first"));
    this.feedback.add(id);
  }

  /**
   * Sends a chat. An interrupted chat is not resent. An answer that was given while the database could not be written
   * does not claim to be recorded.
   */
  async #sendChat(index: number): Promise<void> {
    const id = `chat-${index}`;
    const messages = [{ role: "user", content: `question ${index}` }];
    const body = { model: this.modelIds[0], messages, max_tokens: 4, request_id: id };
    const answer = await this.#try("POST", "/v1/chat/completions", body);
    if (answer?.status === 200 && answer.headers.has("x-hone-call")) this.chats.add(id);
  }

  async #submit(key: string, body: object): Promise<string> {
    return (await this.#insist("POST", jobsPath, body, { "idempotency-key": key })).id;
  }

  /** Sends the request until it is acknowledged. For a deletion, "not found" counts as acknowledged. */
  async #insist(method: string, path: string, body?: unknown, headers = {}): Promise<any> {
    for (;;) {
      const answer = await this.#try(method, path, body, headers);
      if (answer?.status === 200 || (method === "DELETE" && answer?.status === 404)) return answer.body;
      if (answer !== null && answer.status < 500) throw new Error(`${path}: ${JSON.stringify(answer.body)}`);
      await this.#pause();
    }
  }

  /** Sends the request once; returns null if the connection broke. Only a dead server may fail to answer. */
  async #try(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    const scheme = path.startsWith("/feedback") ? "Basic" : "Bearer";
    try {
      return await call(this.#server(), method, path, { body, headers, scheme });
    } catch (error) {
      if (error instanceof DOMException && error.name === "TimeoutError")
        throw new Error(`${method} ${path} was not answered`, { cause: error });
      return null;
    }
  }

  #pause(): Promise<void> {
    return sleep(100, undefined, { signal: this.#signal });
  }
}

const jobsPath = "/v1/preview/training-jobs";

/** Returns the job for a key; the same key always gives the same job. */
function jobOf(
  modelId: string,
  key: string,
): SentJob["body"] & { readonly trajectory_groups: readonly unknown[] } {
  const random = seededRandom("rollouts", key);
  const text = (): string => Array.from({ length: 12 }, () => random.index(1000)).join(" ");
  const groups = Array.from({ length: 4 }, () => ({
    trajectories: [0, 1].map((reward) => ({
      messages_and_choices: [
        { role: "user", content: text() },
        { role: "assistant", content: text() },
      ],
      reward,
    })),
  }));
  return { model_id: modelId, trajectory_groups: groups };
}

export function feedbackOf(id: string, note: string): object {
  return {
    id,
    project_id: "local/p",
    weave_ref: "weave:///local/p/call/1",
    feedback_type: "note",
    payload: { note },
  };
}
