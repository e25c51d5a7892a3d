// Trained models as the rest of the server works with them: registered, found for a caller, listed, deleted with
// everything of them. Knows nothing of HTTP; what other rooms hold of a version is removed by what they inject.
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { refuseOtherEntity, type Caller } from "../domain/access.ts";
import {
  adapterFolderOf,
  adapterId,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
} from "../domain/model.ts";
import type { Page, PageRequest } from "../domain/page.ts";
import { notFound, ServiceError } from "../domain/service-error.ts";
import { fullName, versionName } from "./model-name.ts";
import { registerModel, type RegisterDependencies, type Registration } from "./register-model.ts";

export interface ModelDependencies extends RegisterDependencies {
  readonly store: ModelStore;
  /** Cancels every job of a model that has not ended. */
  readonly cancelJobs: (modelId: string) => Promise<void>;
  /** Has engines forget an adapter. Requests that run on it go on: an engine reads an adapter once. */
  readonly dropAdapter: (adapterId: string) => void;
  /** Adapters lie in it. */
  readonly dataFolder: string;
}

export interface ModelFilter {
  readonly entity: string | null;
  readonly project: string | null;
  readonly name: string | null;
}

/** A name that a chat request may use for a trained model. */
export interface ServedName {
  readonly name: string;
  readonly model: TrainedModel;
  /** Of the model, or of the version that the name means. */
  readonly createdAt: Date;
}

export interface ModelService {
  /** See {@link registerModel}. */
  register(registration: Registration, caller: Caller): Promise<TrainedModel>;
  /** @throws ServiceError `not_found`, or `forbidden` when the model is another entity's */
  find(id: string, caller: Caller): Promise<TrainedModel>;
  /** Whom the model belongs to; null when there is no such model. */
  entityOf(id: string): Promise<string | null>;
  /**
   * Those that the caller may reach.
   *
   * @throws ServiceError `invalid` at `after` for a cursor that is no such model's id
   */
  list(filter: ModelFilter, page: PageRequest, caller: Caller): Promise<Page<TrainedModel>>;
  /** The ids of all that the caller may reach; null is every model there is, for an administrator. */
  listReachableIds(caller: Caller): Promise<readonly string[] | null>;
  /** Each model's own name, which follows its newest version, then the names of its versions, oldest first. */
  listServedNames(caller: Caller): Promise<readonly ServedName[]>;
  /** @throws ServiceError `invalid` for a cursor that is no version's id */
  listVersions(model: TrainedModel, page: PageRequest): Promise<Page<ModelVersion>>;
  /** Deletes the model with its jobs, versions and adapters; returns how many versions there were. */
  delete(model: TrainedModel): Promise<number>;
  /** Step 0 counts as deleted and goes on being served. */
  deleteVersions(
    model: TrainedModel,
    steps: readonly number[],
  ): Promise<{ readonly deleted: readonly number[]; readonly notFound: readonly number[] }>;
}

export function createModelService(dependencies: ModelDependencies): ModelService {
  const { store, cancelJobs } = dependencies;
  return {
    register: (registration, caller) => registerModel(dependencies, registration, caller),
    find: async (id, caller) => {
      const model = await store.find(id.toLowerCase());
      if (model === null) throw notFound("model", id.slice(0, 200));
      refuseOtherEntity(caller, model.entity, `The model ${id}`);
      return model;
    },
    entityOf: async (id) => (await store.find(id))?.entity ?? null,
    list: async (filter, page, caller) => {
      const entity = caller.role === "admin" ? filter.entity : caller.entity;
      const models = await store.list({ entity });
      return pageOf(
        models.filter((model) => matches(model, filter)),
        page,
      );
    },
    listReachableIds: async (caller) =>
      caller.role === "admin" ? null : (await listReachable(store, caller)).map(({ id }) => id),
    listServedNames: async (caller) => {
      const names: ServedName[] = [];
      for (const model of await listReachable(store, caller)) {
        names.push({ name: fullName(model), model, createdAt: model.createdAt });
        for (const { step, createdAt } of await allVersions(store, model.id))
          names.push({ name: versionName(model, step), model, createdAt });
      }
      return names;
    },
    listVersions: (model, page) => store.listVersions(model.id, page),
    delete: async ({ id }) => {
      await cancelJobs(id);
      const steps = (await allVersions(store, id)).map(({ step }) => step);
      await store.delete(id);
      await removeAdapters(dependencies, id, steps);
      return steps.length;
    },
    deleteVersions: async ({ id }, steps) => {
      const result = await store.deleteVersions(id, [...new Set(steps)]);
      await removeAdapters(dependencies, id, result.deleted);
      return result;
    },
  };
}

/** Newest first. */
function listReachable(store: Pick<ModelStore, "list">, caller: Caller): Promise<readonly TrainedModel[]> {
  return store.list({ entity: caller.role === "admin" ? null : caller.entity });
}

function matches(model: TrainedModel, { entity, project, name }: ModelFilter): boolean {
  return (
    model.entity === (entity ?? model.entity) &&
    model.project === (project ?? model.project) &&
    model.name === (name ?? model.name)
  );
}

/** A page of models that are wholly at hand, newest first. */
function pageOf(models: readonly TrainedModel[], request: PageRequest): Page<TrainedModel> {
  const ordered = request.order === "desc" ? models : models.toReversed();
  const start = request.after === null ? 0 : ordered.findIndex(({ id }) => id === request.after) + 1;
  if (request.after !== null && start === 0) {
    const message = "`after` is the id of no item of this list; start without it.";
    const faults = [{ location: ["after"], message, type: "value_error" }];
    throw new ServiceError({ code: "invalid", message, faults });
  }
  const end = start + request.limit;
  return { items: ordered.slice(start, end), hasMore: ordered.length > end };
}

/** Every version that is not deleted, oldest first. */
async function allVersions(
  store: Pick<ModelStore, "listVersions">,
  modelId: string,
): Promise<readonly ModelVersion[]> {
  const versions: ModelVersion[] = [];
  for (let after: string | null = null; ;) {
    const page = await store.listVersions(modelId, { after, limit: 100, order: "asc" });
    versions.push(...page.items);
    after = page.items.at(-1)?.id ?? null;
    if (!page.hasMore || after === null) return versions;
  }
}

/** What is left to do when versions are gone from the store. Step 0 has no adapter. */
async function removeAdapters(
  { dropAdapter, dataFolder }: Pick<ModelDependencies, "dropAdapter" | "dataFolder">,
  modelId: string,
  steps: readonly number[],
): Promise<void> {
  for (const step of steps.filter((each) => each !== 0)) {
    dropAdapter(adapterId(modelId, step));
    await rm(join(dataFolder, adapterFolderOf(modelId, step)), { recursive: true, force: true });
  }
}
