// For tests: the domain's stores in memory, as small as their contracts allow.
import type { AccessKey, KeyStore } from "../../domain/access.ts";
import type { IdempotencyKey, JobDraft, JobEvent, JobStore, TrainingJob } from "../../domain/job.ts";
import type { ModelStore, ModelVersion, TrainedModel } from "../../domain/model.ts";
import type { Page, PageRequest } from "../../domain/page.ts";
import { ServiceError, notFound } from "../../domain/service-error.ts";
import type { MetricRow, TrajectoryGroup, TrajectoryLog, TrajectoryStore } from "../../domain/trajectory.ts";
import type { JobPort } from "../dependencies.ts";

function paged<Item extends { readonly id: string }>(items: readonly Item[], page: PageRequest): Page<Item> {
  const ordered = page.order === "asc" ? items : items.toReversed();
  const start = page.after === null ? 0 : ordered.findIndex(({ id }) => id === page.after) + 1;
  if (page.after !== null && start === 0)
    throw new ServiceError({
      code: "invalid",
      message: "unknown cursor",
      faults: [{ location: ["after"], message: "unknown cursor", type: "value_error" }],
    });
  return { items: ordered.slice(start, start + page.limit), hasMore: ordered.length > start + page.limit };
}

export class FakeKeyStore implements KeyStore {
  readonly #keys = new Map<string, AccessKey>();

  async create(key: AccessKey): Promise<void> {
    this.#keys.set(key.secretHash, key);
  }

  async findByHash(secretHash: string): Promise<AccessKey | null> {
    return this.#keys.get(secretHash) ?? null;
  }

  async list(): Promise<readonly AccessKey[]> {
    return [...this.#keys.values()];
  }

  async revoke(id: string): Promise<boolean> {
    const key = [...this.#keys.values()].find((candidate) => candidate.id === id);
    return key !== undefined && this.#keys.delete(key.secretHash);
  }
}

export class FakeModelStore implements ModelStore {
  readonly models: TrainedModel[] = [];
  readonly versions: ModelVersion[] = [];

  async create(model: TrainedModel, versionZero: ModelVersion): Promise<void> {
    this.models.push(model);
    this.versions.push(versionZero);
  }

  async find(id: string): Promise<TrainedModel | null> {
    return this.models.find((model) => model.id === id) ?? null;
  }

  async findByName(entity: string, project: string, name: string): Promise<TrainedModel | null> {
    const found = this.models.find((m) => m.entity === entity && m.project === project && m.name === name);
    return found ?? null;
  }

  async findByShortName(): Promise<readonly TrainedModel[]> {
    return [];
  }

  async list({ entity }: { readonly entity: string | null }): Promise<readonly TrainedModel[]> {
    return this.models.filter((model) => model.entity === (entity ?? model.entity)).toReversed();
  }

  async delete(id: string): Promise<boolean> {
    const index = this.models.findIndex((model) => model.id === id);
    if (index >= 0) this.models.splice(index, 1);
    return index >= 0;
  }

  async newestVersion(modelId: string): Promise<ModelVersion | null> {
    return this.#of(modelId).at(-1) ?? null;
  }

  async greatestStep(modelId: string): Promise<number> {
    return Math.max(...this.#of(modelId).map(({ step }) => step));
  }

  async findVersion(modelId: string, step: number): Promise<ModelVersion | null> {
    return this.#of(modelId).find((version) => version.step === step) ?? null;
  }

  async listVersions(modelId: string, page: PageRequest): Promise<Page<ModelVersion>> {
    return paged(this.#of(modelId), page);
  }

  async deleteVersions(
    modelId: string,
    steps: readonly number[],
  ): Promise<{ readonly deleted: readonly number[]; readonly notFound: readonly number[] }> {
    const known = new Set(this.#of(modelId).map(({ step }) => step));
    const deleted = steps.filter((step) => known.has(step));
    for (const step of deleted) {
      const index = this.versions.findIndex(
        (version) => version.modelId === modelId && version.step === step,
      );
      if (step !== 0) this.versions.splice(index, 1);
    }
    return { deleted, notFound: steps.filter((step) => !known.has(step)) };
  }

  async updateVersionMetrics(): Promise<void> {}

  #of(modelId: string): readonly ModelVersion[] {
    return this.versions.filter((version) => version.modelId === modelId);
  }
}

/** Jobs with what the routes read of them; the store's working half belongs to `jobs/`. */
export class FakeJobs implements JobPort, Pick<JobStore, "find" | "list" | "listEvents"> {
  readonly jobs: TrainingJob[] = [];
  readonly events: JobEvent[] = [];
  readonly groups = new Map<string, readonly TrajectoryGroup[]>();
  readonly #keys = new Map<string, { readonly id: string; readonly bodyHash: string }>();

  async submit(
    job: JobDraft,
    groups: readonly TrajectoryGroup[],
    idempotency: IdempotencyKey | null,
  ): Promise<{ readonly id: string; readonly isNew: boolean }> {
    const known =
      idempotency === null ? undefined : this.#keys.get(`${idempotency.keyId} ${idempotency.key}`);
    if (known !== undefined && known.bodyHash !== idempotency?.bodyHash) {
      throw new ServiceError({
        code: "conflict",
        message: "The idempotency key was used with another body.",
      });
    }
    if (known !== undefined) return { id: known.id, isNew: false };
    if (idempotency !== null) {
      this.#keys.set(`${idempotency.keyId} ${idempotency.key}`, {
        id: job.id,
        bodyHash: idempotency.bodyHash,
      });
    }
    this.jobs.push({ ...job, contentHash: "" });
    this.groups.set(job.id, groups);
    return { id: job.id, isNew: true };
  }

  async cancelAll(modelId: string): Promise<void> {
    for (const { id } of this.jobs.filter((job) => job.modelId === modelId)) await this.cancel(id);
  }

  async cancel(id: string): Promise<TrainingJob> {
    const index = this.jobs.findIndex((job) => job.id === id);
    const job = this.jobs[index];
    if (job === undefined) throw notFound("training job", id);
    const cancelled = { ...job, state: "cancelled", errorMessage: "cancelled" } as const;
    this.jobs[index] = cancelled;
    return cancelled;
  }

  /** Ends after a terminal event, as the real one does; without one it waits for the signal. */
  async *watchEvents(
    _id: string,
    { after, signal }: { readonly after: string | null; readonly signal: AbortSignal },
  ): AsyncIterable<JobEvent> {
    const start = after === null ? 0 : this.events.findIndex(({ id }) => id === after) + 1;
    yield* this.events.slice(start);
    if (this.events.at(-1)?.type === "training_ended") return;
    await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
  }

  async find(id: string): Promise<TrainingJob | null> {
    return this.jobs.find((job) => job.id === id) ?? null;
  }

  async list(
    filter: { readonly modelIds: readonly string[] | null; readonly state: TrainingJob["state"] | null },
    page: PageRequest,
  ): Promise<Page<TrainingJob>> {
    const matching = this.jobs.filter(
      (job) => (filter.modelIds?.includes(job.modelId) ?? true) && job.state === (filter.state ?? job.state),
    );
    return paged(matching, page);
  }

  async listEvents(_id: string, page: PageRequest): Promise<Page<JobEvent>> {
    return paged(this.events, page);
  }
}

export class FakeTrajectoryStore implements TrajectoryStore {
  readonly logs: TrajectoryLog[] = [];

  async append(log: TrajectoryLog): Promise<void> {
    this.logs.push(log);
  }

  async list(
    modelId: string,
    { split }: { readonly split: string | null },
    page: PageRequest,
  ): Promise<Page<TrajectoryLog>> {
    return paged(
      this.logs.filter((log) => log.modelId === modelId && log.split === (split ?? log.split)),
      page,
    );
  }

  async listMetrics(
    modelId: string,
    filter: { readonly split: string | null },
    page: PageRequest,
  ): Promise<Page<MetricRow>> {
    return this.list(modelId, filter, page);
  }

  async newestMetrics(modelId: string): Promise<MetricRow | null> {
    return this.logs.findLast((log) => log.modelId === modelId) ?? null;
  }
}
