// Compares a server's stored data with its answers to clients. Nothing may be lost or duplicated, and no job may have
// failed.
import { call, type RunningServer } from "../running-server.ts";
import { allItems } from "./all-items.ts";
import { feedbackOf, type Clients } from "./clients.ts";
import type { Steps } from "./left-over.ts";

export interface Stored {
  /** Descriptions of errors, one per error; empty if there are none. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly failed: readonly string[];
  readonly steps: Steps;
  /** Training data of each model's jobs, in the order of the versions that they made. */
  readonly made: ReadonlyMap<string, readonly object[]>;
}

/**
 * Checks a server's stored data. Call it only after the clients have stopped, every job was acknowledged, and all jobs
 * have ended.
 */
export async function checkStored(server: RunningServer, clients: Clients): Promise<Stored> {
  const checker = new Checker(server, clients);
  await checker.checkJobs();
  await checker.checkModels();
  await checker.checkLogs();
  await checker.checkFeedback();
  await checker.checkChats();
  return checker;
}

class Checker implements Stored {
  readonly lost: string[] = [];
  readonly doubled: string[] = [];
  readonly failed: string[] = [];
  readonly steps = new Map<string, readonly string[]>();
  readonly made = new Map<string, readonly object[]>();
  readonly #server: RunningServer;
  readonly #clients: Clients;
  #jobs: readonly any[] = [];

  constructor(server: RunningServer, clients: Clients) {
    this.#server = server;
    this.#clients = clients;
  }

  /** Checks that there is exactly one job for each idempotency key, except for jobs whose model was deleted. */
  async checkJobs(): Promise<void> {
    const { jobs, deleted } = this.#clients;
    this.#jobs = await allItems(this.#server, "/v1/preview/training-jobs");
    const ids = new Set<string>(this.#jobs.map(({ id }) => id));
    const wanted = new Set<string>();
    for (const [key, { body, id }] of jobs) {
      if (deleted.has(body.model_id)) continue;
      if (id === null || !ids.has(id)) this.lost.push(`${key} (${id})`);
      else if (wanted.has(id)) this.lost.push(`${key}: ${id} is the job of another key`);
      else wanted.add(id);
    }
    for (const id of ids) if (!wanted.has(id)) this.doubled.push(`job ${id} is that of no key`);
    for (const job of this.#jobs) await this.#checkJob(job);
  }

  async #checkJob(job: any): Promise<void> {
    const { id, state, error_message: message, result_step: resultStep } = job;
    const isCancelled = state === "cancelled" && this.#clients.cancelled.has(id);
    if (state !== "succeeded" && !isCancelled) this.failed.push(`job ${id}: ${state}: ${message}`);
    const events = await allItems(this.#server, `/v1/preview/training-jobs/${id}/events`);
    const endCount = events.filter(({ type }) => /ended|failed/.test(type)).length;
    if (endCount !== 1) this.doubled.push(`job ${id}: ${endCount} ends`);
    if (state !== "succeeded") return;
    const stepCount = events.filter(({ type }) => type === "gradient_step").length;
    if (stepCount !== job.progress?.gradient_steps_total) this.doubled.push(`job ${id}: ${stepCount} steps`);
    const ofModel = this.#jobs.filter((other) => other.model_id === job.model_id);
    if (ofModel.filter((other) => other.result_step === resultStep).length !== 1)
      this.doubled.push(`job ${id}: step ${resultStep} of another job too`);
  }

  /**
   * Checks each model that was not deleted: it must have version 0 and one version per successful job. Deleted models
   * must not exist.
   */
  async checkModels(): Promise<void> {
    const { modelIds, kept, deleted } = this.#clients;
    for (const modelId of [...modelIds, ...kept]) {
      const versions = await allItems(this.#server, `/v1/preview/models/${modelId}/checkpoints`);
      const ended = this.#jobs.filter((job) => job.model_id === modelId && job.state === "succeeded");
      if (versions.length !== ended.length + 1)
        (versions.length > ended.length + 1 ? this.doubled : this.lost).push(
          `model ${modelId}: ${versions.length} versions of ${ended.length} jobs`,
        );
      const steps: readonly number[] = versions.map(({ step }) => step);
      if (steps.some((step, index) => step !== index))
        this.lost.push(`model ${modelId}: versions ${steps.join()}`);
      this.steps.set(modelId, steps.map(String));
      const inOrder = ended.toSorted((one, other) => one.result_step - other.result_step);
      const bodies = new Map([...this.#clients.jobs.values()].map(({ id, body }) => [id, body]));
      this.made.set(
        modelId,
        inOrder.flatMap(({ id }) => bodies.get(id) ?? []),
      );
    }
    for (const modelId of deleted) {
      const { status } = await call(this.#server, "GET", `/v1/preview/models/${modelId}`);
      if (status !== 404) this.lost.push(`the deletion of model ${modelId}: ${status}`);
    }
  }

  async checkLogs(): Promise<void> {
    const { logs, modelIds } = this.#clients;
    const markers = (await allItems(this.#server, `/v1/preview/models/${modelIds[0]}/trajectories`)).map(
      (log) => log.trajectory_groups[0].trajectories[0].metadata.marker as string,
    );
    for (const marker of logs) if (!markers.includes(marker)) this.lost.push(marker);
    if (new Set(markers).size !== markers.length) this.doubled.push("logs");
  }

  /** Checks that each answered chat is recorded completely. */
  async checkChats(): Promise<void> {
    for (const id of this.#clients.chats) {
      const { status, body } = await call(this.#server, "GET", `/v1/chat/completions/${id}`);
      if (status !== 200 || body.choices[0].token_ids.length === 0) this.lost.push(`${id}: ${status}`);
    }
  }

  async checkFeedback(): Promise<void> {
    for (const id of this.#clients.feedback) {
      const again = await call(this.#server, "POST", "/feedback/create", {
        body: feedbackOf(id, "second"),
        scheme: "Basic",
      });
      if (again.status !== 409) this.lost.push(`${id}: ${again.status}`);
    }
  }
}
