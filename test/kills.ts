// Kills the server, its training processes and its engine at random while clients send jobs, logs and feedback, and then
// looks whether anything that was acknowledged is lost or doubled, a job failed, or a file was left over.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { seededRandom, type Random } from "../src/domain/random.ts";
import {
  call,
  childrenOf,
  eventually,
  newDataFolder,
  removeDataFolder,
  startServer,
  type RunningServer,
} from "./running-server.ts";
import { model, registerModel } from "./served-jobs.ts";

export interface KillReport {
  readonly kills: Readonly<Record<Victim, number>>;
  /** What clients were told is stored. */
  readonly acknowledged: { readonly jobs: number; readonly logs: number; readonly feedback: number };
  /** In words, one for each thing; all empty when all is well. */
  readonly lost: readonly string[];
  readonly doubled: readonly string[];
  readonly failed: readonly string[];
  readonly leftOver: readonly string[];
}

type Victim = "server" | "trainer" | "engine" | "all";

const victims: readonly Victim[] = ["server", "trainer", "engine", "all"];

/** Small steps, and as many lives for a job as a long run of kills takes. */
const flags = [
  ...model,
  "--training-batch-tokens=32",
  "--jobs-backoff-ms=50",
  "--jobs-backoff-ms-max=200",
  "--jobs-attempts-max=100",
  "--jobs-starts-max=1000",
];

/** Runs `count` kills; the same seed chooses the same victims and pauses. */
export async function killAtRandom(options: {
  readonly seed: number;
  readonly count: number;
  readonly log?: (line: string) => void;
}): Promise<KillReport> {
  const { seed, count, log = () => undefined } = options;
  const dataFolder = newDataFolder();
  const world = new World(await startServer({ dataFolder, flags }));
  try {
    const random = seededRandom("kills", seed);
    for (const name of ["a", "b"]) world.modelIds.push(await registerModel(world.server, name));
    const clients = [world.sendJobs(), world.sendLogs(), world.sendFeedback()];
    for (let index = 0; index < count; index++) {
      await new Promise((resolve) => setTimeout(resolve, 100 + random.index(1500)));
      const victim = victims[random.index(victims.length)];
      log(`${index + 1}: ${victim}`);
      await world.kill(victim, dataFolder);
    }
    world.isOver = true;
    await Promise.all(clients);
    await world.jobsEnd();
    const { steps, ...found } = await world.check();
    await world.server.terminate();
    // What died last is swept at the next start.
    world.server = await startServer({ dataFolder, flags });
    await world.server.terminate();
    return { ...world.tally(), ...found, leftOver: leftOver(dataFolder, steps) };
  } finally {
    await world.server.kill();
    removeDataFolder(dataFolder);
  }
}

/** A server that comes and goes, and what clients know of what they sent it. */
class World {
  server: RunningServer;
  isOver = false;
  readonly modelIds: string[] = [];
  readonly #kills: Record<Victim, number> = { server: 0, trainer: 0, engine: 0, all: 0 };
  /** The id of each acknowledged job by its idempotency key. */
  readonly #jobs = new Map<string, string>();
  readonly #logs = new Set<string>();
  readonly #feedback = new Set<string>();

  constructor(server: RunningServer) {
    this.server = server;
  }

  async kill(victim: Victim, dataFolder: string): Promise<void> {
    this.#kills[victim] += 1;
    const parts = { server: [], trainer: ["training"], engine: ["engine"], all: ["training", "engine"] }[
      victim
    ];
    const children = childrenOf(this.server.process.pid ?? -1);
    for (const { id, command } of children) if (parts.some((part) => command.includes(part))) killProcess(id);
    if (victim !== "server" && victim !== "all") return;
    await this.server.kill();
    this.server = await startServer({ dataFolder, flags });
  }

  /** Each is sent with the same key until it is acknowledged; no more wait than some. */
  async sendJobs(): Promise<void> {
    for (let index = 0; !this.isOver; index++) {
      const modelId = this.modelIds[index % this.modelIds.length];
      const key = `job-${index}`;
      const body = { model_id: modelId, trajectory_groups: groupsOf(index) };
      const answer = await this.#insist("POST", "/v1/preview/training-jobs", body, {
        "idempotency-key": key,
      });
      if (answer !== null) this.#jobs.set(key, answer.id);
      while (!this.isOver && (await this.#unfinishedCount()) > 3) await pause();
    }
  }

  /** A log has no key: one whose answer was lost may be stored or not, and is sent under another name. */
  async sendLogs(): Promise<void> {
    for (let index = 0; !this.isOver; index++) {
      const marker = `log-${index}`;
      const body = { trajectory_groups: [{ trajectories: [{ reward: 1, metadata: { marker } }] }] };
      const answer = await this.#try("POST", `/v1/preview/models/${this.modelIds[0]}/log`, body);
      if (answer?.status === 200) this.#logs.add(marker);
      await pause();
    }
  }

  async sendFeedback(): Promise<void> {
    for (let index = 0; !this.isOver; index++) {
      const id = `feedback-${index}`;
      if ((await this.#insist("POST", "/feedback/create", feedbackOf(id, "first"))) !== null)
        this.#feedback.add(id);
      await pause();
    }
  }

  async jobsEnd(): Promise<void> {
    await eventually(
      "all jobs end",
      async () => ((await this.#unfinishedCount()) === 0 ? true : null),
      600_000,
    );
  }

  tally(): Pick<KillReport, "kills" | "acknowledged"> {
    const acknowledged = { jobs: this.#jobs.size, logs: this.#logs.size, feedback: this.#feedback.size };
    return { kills: this.#kills, acknowledged };
  }

  async check(): Promise<
    Omit<KillReport, "kills" | "acknowledged" | "leftOver"> & { readonly steps: Steps }
  > {
    const lost: string[] = [];
    const doubled: string[] = [];
    const failed: string[] = [];
    const steps = new Map<string, readonly string[]>();
    const jobs = await this.#all("/v1/preview/training-jobs");
    const ids = new Set(jobs.map(({ id }) => id));
    for (const [key, id] of this.#jobs) if (!ids.has(id)) lost.push(`${key} (${id})`);
    // A job that was stored without an answer is one of those that no key is known of; there is one at most.
    if (jobs.length > this.#jobs.size + 1) doubled.push(`${jobs.length} jobs for ${this.#jobs.size} keys`);
    for (const { id, state, error_message: message, result_step: resultStep, ...job } of jobs) {
      if (state !== "succeeded") failed.push(`job ${id}: ${state}: ${message}`);
      const events = await this.#all(`/v1/preview/training-jobs/${id}/events`);
      const endCount = events.filter(({ type }) => /ended|failed/.test(type)).length;
      const stepCount = events.filter(({ type }) => type === "gradient_step").length;
      if (endCount !== 1 || stepCount !== job.progress?.gradient_steps_total)
        doubled.push(`job ${id}: ${endCount} ends, ${stepCount} steps`);
      const ofModel = jobs.filter((other) => other.model_id === job.model_id);
      if (ofModel.filter((other) => other.result_step === resultStep).length !== 1)
        doubled.push(`job ${id}: step ${resultStep} of another job too`);
    }
    for (const modelId of this.modelIds) {
      const versions = await this.#all(`/v1/preview/models/${modelId}/checkpoints`);
      const ended = jobs.filter((job) => job.model_id === modelId && job.state === "succeeded");
      if (versions.length !== ended.length + 1)
        (versions.length > ended.length + 1 ? doubled : lost).push(
          `model ${modelId}: ${versions.length} versions of ${ended.length} jobs`,
        );
      steps.set(
        modelId,
        versions.map(({ step }) => String(step)),
      );
    }
    const markers = (await this.#all(`/v1/preview/models/${this.modelIds[0]}/trajectories`)).map(
      (log) => log.trajectory_groups[0].trajectories[0].metadata.marker as string,
    );
    for (const marker of this.#logs) if (!markers.includes(marker)) lost.push(marker);
    if (new Set(markers).size !== markers.length) doubled.push("logs");
    for (const id of this.#feedback) {
      const again = await call(this.server, "POST", "/feedback/create", {
        body: feedbackOf(id, "second"),
        scheme: "Basic",
      });
      if (again.status !== 409) lost.push(`${id}: ${again.status}`);
    }
    return { lost, doubled, failed, steps };
  }

  async #unfinishedCount(): Promise<number> {
    const answers = await Promise.all(
      ["queued", "running"].map((state) => this.#try("GET", `/v1/preview/training-jobs?state=${state}`)),
    );
    return answers.reduce((sum, answer) => sum + (answer?.status === 200 ? answer.body.data.length : 100), 0);
  }

  /** All items of a list. */
  async #all(path: string): Promise<any[]> {
    const items: any[] = [];
    for (;;) {
      const after = items.length === 0 ? "" : `&after=${items.at(-1).id}`;
      const { status, body } = await call(this.server, "GET", `${path}?limit=100${after}`);
      if (status !== 200) throw new Error(`${path}: ${JSON.stringify(body)}`);
      items.push(...body.data);
      if (!body.has_more) return items;
    }
  }

  /** Sends again until it is acknowledged; null when everything is over before. */
  async #insist(method: string, path: string, body: unknown, headers = {}): Promise<any> {
    while (!this.isOver) {
      const answer = await this.#try(method, path, body, headers);
      if (answer?.status === 200) return answer.body;
      if (answer !== null && answer.status < 500) throw new Error(JSON.stringify(answer.body));
      await pause();
    }
    return null;
  }

  /** Null when there was no answer. */
  async #try(method: string, path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) {
    const scheme = path.startsWith("/feedback") ? "Basic" : "Bearer";
    return call(this.server, method, path, { body, headers, scheme }).catch(() => null);
  }
}

type Steps = ReadonlyMap<string, readonly string[]>;

/** What lies in the data folder of a server that has ended, and belongs to nothing. */
function leftOver(dataFolder: string, steps: Steps): readonly string[] {
  const namesIn = (...parts: readonly string[]): readonly string[] =>
    existsSync(join(dataFolder, ...parts)) ? readdirSync(join(dataFolder, ...parts)) : [];
  const found = namesIn("jobs").map((name) => `jobs/${name}`);
  found.push(...namesIn().filter((name) => name.startsWith(".disk-check")));
  found.push(...namesIn("cache").filter((name) => name.includes("partial")));
  for (const modelId of namesIn("adapters"))
    for (const name of namesIn("adapters", modelId))
      if (!(steps.get(modelId) ?? []).includes(name)) found.push(`adapters/${modelId}/${name}`);
  return found;
}

function groupsOf(seed: number): readonly unknown[] {
  const random: Random = seededRandom("rollouts", seed);
  const text = (): string => Array.from({ length: 12 }, () => random.index(1000)).join(" ");
  return Array.from({ length: 4 }, () => ({
    trajectories: [0, 1].map((reward) => ({
      messages_and_choices: [
        { role: "user", content: text() },
        { role: "assistant", content: text() },
      ],
      reward,
    })),
  }));
}

function feedbackOf(id: string, note: string): object {
  return {
    id,
    project_id: "local/p",
    weave_ref: "weave:///local/p/call/1",
    feedback_type: "note",
    payload: { note },
  };
}

function killProcess(id: number): void {
  try {
    process.kill(id, "SIGKILL");
  } catch {
    // It ended by itself.
  }
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 100));
}
