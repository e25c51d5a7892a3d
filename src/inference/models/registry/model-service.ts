// Trained models for the rest of the server. Registers, finds and lists models, and deletes them with everything that
// belongs to them. Knows nothing of HTTP; other parts of the server provide functions that delete their own data.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { reachOf, refuseOtherOwner, type Caller } from "../../../base/domain/access.ts";
import type { Owned } from "../../../base/domain/keys/key-scope.ts";
import {
  adaptersOf,
  type ModelFilter,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
  type VersionDeletion,
  type VersionKey,
  type VersionMetrics,
  type VersionTime,
  adapterFolderOf,
  adapterId,
  stepsAmong,
} from "../../../base/domain/model.ts";
import { fullDiskError } from "../../../base/domain/transient-errors/full-disk.ts";
import { allItems, allPages, type Page, type PageRequest } from "../../../base/domain/page.ts";
import { notFound, ServiceError } from "../../../base/domain/service-error.ts";
import { fullName, versionName } from "./model-name.ts";
import type { ModelDirectoryDependencies } from "./model-directory.ts";
import { registerModel, type RegisterDependencies, type Registration } from "./register-model.ts";
import type { ModelSettings } from "./settings.ts";

export interface ModelDependencies extends RegisterDependencies {
  readonly store: ModelStore;
  /** Deletes the recordings of a model's requests, a few at a time. */
  readonly deleteRecordings: (modelId: string) => Promise<void>;
  /** Cancels all jobs of a model that have not ended. */
  readonly cancelJobs: (modelId: string) => Promise<void>;
  readonly weightsOf: ModelDirectoryDependencies["weightsOf"];
  /**
   * Makes engines unload an adapter. Running requests continue, because an engine reads an adapter's files only once.
   */
  readonly dropAdapter: (adapterId: string) => void;
  /** Makes the remote trainer discard a training state that the trainer itself stores. */
  readonly discardState: (state: string) => Promise<void>;
  readonly artifacts: ArtifactStore;
}

/** Versions that were trained on other weights of their base, and are now accepted for its current weights. */
export interface AcceptedBase {
  /** Hex SHA-256 of the base's current weights. */
  readonly weights: string;
  readonly steps: readonly number[];
}

/** A name that a chat request may use for a trained model. */
export interface ServedName {
  readonly name: string;
  readonly model: TrainedModel;
  /** Creation time of the model, or of the version if the name refers to one. */
  readonly createdAt: Date;
}

/** Search among the names that chat requests may use. */
export interface NameSearch {
  /**
   * Text that the names contain; the letters A to Z match in either case. A text without a colon finds names of models, a
   * text with a colon names of versions. Undefined for all names.
   */
  readonly text?: string;
  /** Maximum number of names. */
  readonly limit?: number;
}

export interface ModelService {
  /** Registers a model; see {@link registerModel}. */
  register(registration: Registration, caller: Caller): Promise<TrainedModel>;
  /**
   * Returns the model with an id.
   *
   * @throws ServiceError `not_found`, or `forbidden` if the caller may not access the model
   */
  find(id: string, caller: Caller): Promise<TrainedModel>;
  /** Returns the owner of a model; null if the model does not exist. */
  ownerOf(id: string): Promise<Owned | null>;
  /**
   * Returns models by id. Leaves out ids of models that do not exist.
   *
   * @param ids at most 100 different ids
   */
  findMany(ids: readonly string[]): Promise<ReadonlyMap<string, TrainedModel>>;
  /** See {@link ModelStore.findMetrics}. */
  metricsOf(versions: readonly VersionKey[], names: readonly string[]): Promise<readonly VersionMetrics[]>;
  /**
   * Returns the models that the caller may access.
   *
   * @throws ServiceError `invalid` at `after` if the cursor is not the id of such a model
   */
  list(filter: ModelFilter, page: PageRequest, caller: Caller): Promise<Page<TrainedModel>>;
  /**
   * Returns the names of all models and versions, or those that a search finds. The name of a model, which refers to its
   * newest version, is followed by the names of its versions, the oldest first.
   */
  listServedNames(caller: Caller, search?: NameSearch): Promise<readonly ServedName[]>;
  /**
   * Returns a page of a model's versions.
   *
   * @throws ServiceError `invalid` if the cursor is not the id of a version
   */
  listVersions(model: TrainedModel, page: PageRequest): Promise<Page<ModelVersion>>;
  /** Deletes the model with its jobs, versions and adapters. Returns the number of deleted versions. */
  delete(model: TrainedModel): Promise<number>;
  /**
   * Returns a version of a model.
   *
   * @throws ServiceError `not_found` when there is no such version
   */
  findVersion(model: TrainedModel, step: number): Promise<ModelVersion>;
  /**
   * Pins a version, so that it is not deleted automatically, or unpins it.
   *
   * @throws ServiceError `not_found` when there is no such version
   */
  pinVersion(model: TrainedModel, step: number, isPinned: boolean): Promise<ModelVersion>;
  /**
   * Accepts the versions that were trained on earlier weights of their base, so that they are served with its current
   * weights again.
   *
   * @throws ServiceError `unavailable` while the base's engine is not running
   */
  acceptBase(model: TrainedModel): Promise<AcceptedBase>;
  /** See {@link ModelStore.deleteVersions}. Requests that are running on a deleted version complete on it. */
  deleteVersions(model: TrainedModel, steps: readonly number[]): Promise<VersionDeletion>;
}

export function createModelService(dependencies: ModelDependencies): ModelService {
  const { store, artifacts, cancelJobs } = dependencies;
  return {
    register: (registration, caller) => registerModel(dependencies, registration, caller),
    find: async (id, caller) => {
      const model = await store.find(id.toLowerCase());
      if (model === null) throw notFound("model", id.slice(0, 200));
      refuseOtherOwner(caller, model, `The model ${id}`);
      return model;
    },
    ownerOf: (id) => store.find(id),
    findMany: async (ids) =>
      new Map((await store.findMany([...new Set(ids)])).map((model) => [model.id, model] as const)),
    metricsOf: (versions, names) => store.findMetrics(versions, names),
    list: async (filter, page, caller) => {
      const reach = reachOf(caller);
      const entity = reach?.entity ?? filter.entity;
      const project = reach?.project ?? filter.project;
      // A caller sees only models of its own entity and project. A filter for other models yields an empty list instead
      // of an error.
      const isElsewhere = entity !== (filter.entity ?? entity) || project !== (filter.project ?? project);
      return isElsewhere
        ? { items: [], hasMore: false }
        : await store.list({ ...filter, entity, project }, page);
    },
    listServedNames: async (caller, { text, limit = Infinity } = {}) => {
      const names: ServedName[] = [];
      const [ofModel, ofVersion] = text?.toLowerCase().split(/:(.*)/s, 2) ?? [];
      const reach = reachOf(caller) ?? { entity: null, project: null };
      const filter = { ...reach, name: null, ...(ofModel !== undefined && { text: ofModel }) };
      for await (const models of allPages((page) => store.list(filter, page), "desc")) {
        const hasVersions = text === undefined || ofVersion !== undefined;
        const versions = hasVersions ? await versionTimes(store, models) : null;
        for (const model of models) {
          if (ofVersion === undefined)
            names.push({ name: fullName(model), model, createdAt: model.createdAt });
          for (const { step, createdAt } of versions?.get(model.id) ?? []) {
            const name = versionName(model, step);
            if (text === undefined || name.toLowerCase().includes(text.toLowerCase()))
              names.push({ name, model, createdAt });
          }
        }
        if (names.length >= limit) return names.slice(0, limit);
      }
      return names;
    },
    listVersions: (model, page) => store.listVersions(model.id, page),
    delete: async ({ id }) => {
      await cancelJobs(id);
      const key = adaptersOf(id);
      // Marks the adapters' files as held. If the server crashes, a later sweep then removes the remaining files.
      await artifacts.hold(key).catch((error: unknown) => {
        // On a full disk the files cannot be marked. Deletion continues nevertheless, because it frees space.
        if (fullDiskError(error) === null) throw error;
      });
      const steps: number[] = [];
      for await (const { step } of allItems((page) => store.listVersions(id, page))) steps.push(step);
      const states = await store.oldTrainerStates(id, 0);
      await dependencies.deleteRecordings(id);
      await store.delete(id);
      for (const state of states) await dependencies.discardState(state);
      await removeAdapters(dependencies, id, steps);
      await artifacts.remove(key);
      await artifacts.release(key);
      return steps.length;
    },
    findVersion: async ({ id }, step) => present(await store.findVersion(id, step), step),
    acceptBase: async ({ id, baseModel }) => {
      const weights = dependencies.weightsOf(baseModel);
      if (weights === null) throw baseIsNotUp(baseModel);
      return { weights, steps: await store.acceptBase(id, weights) };
    },
    pinVersion: async ({ id }, step, isPinned) => present(await store.pinVersion(id, step, isPinned), step),
    deleteVersions: async ({ id }, steps) => {
      const result = await store.deleteVersions(id, [...new Set(steps)], dependencies.clock.now());
      await removeAdapters(dependencies, id, result.deleted);
      return result;
    },
  };
}

/** Maximum number of rows that one statement reads. A row takes about 100 bytes. */
const versionTimesAtOnce = 5000;

/** Returns the versions of some models by model id. The versions of each model are ordered by step. */
async function versionTimes(
  store: Pick<ModelStore, "listVersionTimes">,
  models: readonly TrainedModel[],
): Promise<ReadonlyMap<string, readonly VersionTime[]>> {
  const ids = models.map(({ id }) => id);
  const byModel = new Map<string, VersionTime[]>(ids.map((id) => [id, []]));
  for (let after: VersionTime | null = null, hasMore = true; hasMore;) {
    const times: readonly VersionTime[] = await store.listVersionTimes(ids, after, versionTimesAtOnce);
    for (const time of times) byModel.get(time.modelId)?.push(time);
    after = times.at(-1) ?? null;
    hasMore = times.length === versionTimesAtOnce;
  }
  return byModel;
}

function baseIsNotUp(baseModel: string): ServiceError {
  const message = `The base model ${JSON.stringify(baseModel)} is not served or not up yet; try again when it is.`;
  return new ServiceError({ code: "unavailable", message, retryAfterSeconds: 2 });
}

function present(version: ModelVersion | null, step: number): ModelVersion {
  if (version === null) throw notFound("version", String(step));
  return version;
}

// Dependencies for deleting old versions with their adapters. The setting `checkpointsKept` says how many versions
// remain.

interface OlderVersionsDependencies {
  readonly store: Pick<ModelStore, "deleteOlderVersions" | "list">;
  /**
   * Makes engines unload an adapter. Running requests continue, because an engine reads an adapter's files only once.
   */
  readonly dropAdapter: (adapterId: string) => void;
  /** Returns the ids of adapters that requests use, or are about to use. */
  readonly adaptersInUse: () => Iterable<string>;
  readonly artifacts: Pick<ArtifactStore, "remove">;
  /**
   * Returns this server's id, under which it records the versions that it uses. Other servers do not delete these
   * versions.
   */
  readonly server: () => string;
  readonly clock: Clock;
  readonly settings: Pick<ModelSettings, "checkpointsKept">;
}

export type OlderVersions = ReturnType<typeof createOlderVersions>;

export function createOlderVersions(dependencies: OlderVersionsDependencies) {
  const { store, adaptersInUse, server, clock } = dependencies;
  const { checkpointsKept } = dependencies.settings;
  /** Deletes a model's oldest versions beyond the number to keep. Must be called when the model has a new version. */
  const deleteOf = async (modelId: string): Promise<void> => {
    if (checkpointsKept === 0) return;
    const steps = await store.deleteOlderVersions(modelId, {
      keptCount: checkpointsKept,
      spared: stepsAmong(adaptersInUse(), modelId),
      server: server(),
      now: clock.now(),
    });
    await removeAdapters(dependencies, modelId, steps);
  };
  return {
    deleteOf,
    /** Deletes the oldest versions of every model beyond the number to keep. Must be called at startup. */
    deleteAll: async (): Promise<void> => {
      const all = { entity: null, project: null, name: null };
      for await (const { id } of allItems((page) => store.list(all, page))) await deleteOf(id);
    },
  };
}

/** Unloads and deletes the adapters of versions that have been deleted from the store. Step 0 has no adapter. */
async function removeAdapters(
  { dropAdapter, artifacts }: Pick<OlderVersionsDependencies, "dropAdapter" | "artifacts">,
  modelId: string,
  steps: readonly number[],
): Promise<void> {
  for (const step of steps.filter((each) => each !== 0)) {
    dropAdapter(adapterId(modelId, step));
    await artifacts.remove(adapterFolderOf(modelId, step));
  }
}
