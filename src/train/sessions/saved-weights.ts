// Saved weights: finds the version that a `tinker://` path names, lists a run's saved weights, and deletes single ones
// and those that have expired.
import { mayReach, type Caller } from "../../base/domain/access.ts";
import type { ModelStore, ModelVersion, TrainedModel } from "../../base/domain/model.ts";
import { allItems } from "../../base/domain/page.ts";
import { notFound, ServiceError } from "../../base/domain/service-error.ts";
import { modelNameOf, parsePath, parseRunId, type RunKey, savedIdOf } from "./run-names.ts";

/** A version that a client saved under a name. */
export type SavedVersion = ModelVersion & Required<Pick<ModelVersion, "saved">>;

export interface SavedPlace {
  readonly run: RunKey;
  readonly model: TrainedModel;
  readonly version: SavedVersion;
}

export interface SavedDependencies {
  readonly store: Pick<
    ModelStore,
    "findByShortName" | "listVersions" | "pinVersion" | "expiredVersions" | "find" | "setExpiry"
  >;
  /** Deletes versions with their adapters. */
  readonly deleteVersions: (model: TrainedModel, steps: readonly number[]) => Promise<unknown>;
}

/** Maximum number of expired versions that are deleted at once. */
const expiredAtOnce = 100;

export class SavedWeights {
  readonly #dependencies: SavedDependencies;

  constructor(dependencies: SavedDependencies) {
    this.#dependencies = dependencies;
  }

  /**
   * Returns the trained model of a run.
   *
   * @throws ServiceError `not_found`, also for a run of another entity
   */
  async findRun(id: string, caller: Caller): Promise<{ readonly run: RunKey; readonly model: TrainedModel }> {
    const run = parseRunId(id);
    if (run === null) throw notFound("training run", id);
    // Session ids are unique, so at most one model of the entity has the name.
    const found = await this.#dependencies.store.findByShortName(caller.entity, null, modelNameOf(run), 1);
    const [model] = found.filter((each) => mayReach(caller, each));
    if (model === undefined) throw notFound("training run", id);
    return { run, model };
  }

  /** @throws ServiceError `invalid` if the text is not a `tinker://` path, `not_found` if there are no such weights */
  async find(path: string, caller: Caller): Promise<SavedPlace> {
    const { kind, name, ...run } = parsePath(path);
    const { model } = await this.findRun(`${run.sessionId}:train:${run.seqId}`, caller);
    const version = await this.findIn(model, savedIdOf({ kind, name }));
    if (version === null) throw notFound("checkpoint", path);
    return { run, model, version };
  }

  /** Returns the newest version whose `saved.id` is this id; null if there is none. */
  async findIn(model: TrainedModel, savedId: string): Promise<SavedVersion | null> {
    return (await this.list(model)).findLast(({ saved }) => saved.id === savedId) ?? null;
  }

  /** Returns the saved weights of a model, the oldest first. */
  async list({ id }: TrainedModel): Promise<readonly SavedVersion[]> {
    const saved: SavedVersion[] = [];
    for await (const version of allItems((page) => this.#dependencies.store.listVersions(id, page)))
      if (isSaved(version)) saved.push(version);
    return saved;
  }

  /** @throws ServiceError `conflict` if a training job starts from the version */
  async delete(model: TrainedModel, { step }: Pick<ModelVersion, "step">): Promise<void> {
    const { store, deleteVersions } = this.#dependencies;
    await store.pinVersion(model.id, step, false);
    await deleteVersions(model, [step]);
    for await (const version of allItems((page) => store.listVersions(model.id, page)))
      if (version.step === step)
        throw new ServiceError({
          code: "conflict",
          message: `A training job starts from version ${step}; try again when it has ended.`,
        });
  }

  setExpiry({ model, version }: SavedPlace, expiresAt: Date | null): Promise<ModelVersion | null> {
    return this.#dependencies.store.setExpiry(model.id, version.step, expiresAt);
  }

  /** Deletes versions that have no name, except the newest `keptCount` of them. */
  async deleteUnnamed(model: TrainedModel, keptCount: number): Promise<void> {
    const steps: number[] = [];
    for await (const version of allItems((page) => this.#dependencies.store.listVersions(model.id, page)))
      if (version.step > 0 && !isSaved(version) && !version.isPinned) steps.push(version.step);
    const old = steps.slice(0, Math.max(0, steps.length - keptCount));
    if (old.length > 0) await this.#dependencies.deleteVersions(model, old);
  }

  async deleteExpired(at: Date): Promise<void> {
    const { store } = this.#dependencies;
    for (const { modelId, step } of await store.expiredVersions(at, expiredAtOnce)) {
      const model = await store.find(modelId);
      if (model !== null) await this.delete(model, { step });
    }
  }
}

function isSaved(version: ModelVersion): version is SavedVersion {
  return version.saved !== undefined;
}
