// Samples a server: its health, its metrics, and the jobs that the key can access.
import type { TrainingJob } from "../../client/api.ts";
import { HoneError } from "../../client/hone-error.ts";
import type { Hone } from "../../client/hone.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { readMetrics } from "./read-metrics.ts";
import { readingOf } from "./readings.ts";
import type { Snapshot, TopJob } from "./snapshot.ts";

/** Request timeout in milliseconds, long enough for a busy server. */
const timeout = 5000;

interface HealthBody {
  readonly state: string;
  readonly reason: string;
  readonly models: Readonly<Record<string, string>>;
}

export type TopClient = Pick<Hone, "baseUrl" | "server" | "jobs" | "models">;

/** Takes samples of one server, and caches the names of models. */
export class ServerSampler {
  readonly #client: TopClient;
  readonly #clock: Clock;
  /** Names of models by id. */
  readonly #names = new Map<string, string>();

  constructor(client: TopClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /**
   * Returns a sample of the server.
   *
   * @throws HoneError if the server does not answer; the signal's reason if it aborts
   */
  async take(signal: AbortSignal): Promise<Snapshot> {
    const { server, baseUrl } = this.#client;
    const options = { signal, timeout, retries: 0 };
    const [version, health, metrics, jobs] = await Promise.all([
      server.version(options),
      this.#health(options),
      server.metrics(options),
      this.#jobs(options),
    ]);
    return {
      at: this.#clock.now(),
      monotonicMs: this.#clock.monotonicMs(),
      url: baseUrl,
      version,
      state: health.state,
      reason: health.reason,
      reading: readingOf(readMetrics(metrics), health.models),
      ...jobs,
    };
  }

  /** Returns the health report. An unhealthy server answers with an error status, but with the same body. */
  async #health(options: Options): Promise<HealthBody> {
    try {
      return await this.#client.server.health(options);
    } catch (error) {
      const body = error instanceof HoneError ? (error.body as Partial<HealthBody> | null) : null;
      if (typeof body?.state !== "string") throw error;
      return { state: body.state, reason: body.reason ?? "", models: body.models ?? {} };
    }
  }

  async #jobs(options: Options): Promise<Pick<Snapshot, "jobs" | "jobsRefusal">> {
    try {
      const [running, queued] = await Promise.all(
        (["running", "queued"] as const).map((state) => this.#client.jobs.list({ state }, options).first()),
      );
      const found = [...running.data, ...queued.data];
      const jobs = await Promise.all(found.map((job) => this.#shown(job, options)));
      return { jobs, jobsRefusal: null };
    } catch (error) {
      const isRefused = error instanceof HoneError && (error.status === 401 || error.status === 403);
      if (!isRefused) throw error;
      return { jobs: null, jobsRefusal: "needs a key (--key or HONE_API_KEY)" };
    }
  }

  async #shown(job: TrainingJob, options: Options): Promise<TopJob> {
    return {
      id: job.id,
      model: await this.#nameOf(job.model_id, options),
      kind: job.kind,
      state: job.phase ?? job.state,
      progress: progressOf(job),
      secondsLeft: job.seconds_left,
      waitingFor: job.waiting_for,
    };
  }

  /** Returns a model's name; its id if the model has been deleted. */
  async #nameOf(modelId: string, options: Options): Promise<string> {
    const known = this.#names.get(modelId);
    if (known !== undefined) return known;
    try {
      const { project, name } = await this.#client.models.get(modelId, options);
      this.#names.set(modelId, `${project}/${name}`);
      return `${project}/${name}`;
    } catch (error) {
      if (error instanceof HoneError && error.status === 404) return modelId;
      throw error;
    }
  }
}

interface Options {
  readonly signal: AbortSignal;
  readonly timeout: number;
  readonly retries: number;
}

/** Returns the share of gradient steps that are finished; before the first step, the share of data that is prepared. */
function progressOf({ progress }: TrainingJob): number | null {
  if (progress === null) return null;
  const { prepared, prepared_total: toPrepare, gradient_steps: done, gradient_steps_total: total } = progress;
  if (total !== null) return total === 0 ? 1 : done / total;
  return prepared === null || toPrepare === null || toPrepare === 0 ? null : prepared / toPrepare;
}
