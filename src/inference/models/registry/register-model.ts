// Registers a trained model: checks its name, and stores the base model as its version 0.
import { isDeepStrictEqual } from "node:util";
import { mayReach, refuseOtherOwner, type Caller } from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { newUuid } from "../../../base/domain/random.ts";
import type { AdapterWish, ModelStore, ModelVersion, TrainedModel } from "../../../base/domain/model.ts";
import { quoted, ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import { findForkSource, type ForkSource } from "./fork-source.ts";
import type { ModelDirectory } from "./model-directory.ts";
import { isNamePart, isPlainPart } from "./model-name.ts";

export interface Registration {
  readonly entity: string;
  readonly project: string;
  readonly name: string;
  readonly baseModel: string;
  readonly adapter: AdapterWish;
  /**
   * Version of another model whose adapter becomes the new model's first version; null to start with the base model.
   */
  readonly from: ForkSource | null;
  /**
   * True to return an existing model with this name and base, without copying anything. False to refuse a name that a
   * model already has.
   */
  readonly returnExisting: boolean;
}

export interface RegisterDependencies {
  readonly store: Pick<ModelStore, "find" | "findByName" | "create" | "findVersion">;
  readonly directory: Pick<ModelDirectory, "find">;
  /**
   * Copies the adapter of a version for a new model that will be registered next.
   *
   * @throws ServiceError `conflict` for a damaged adapter
   */
  readonly copyAdapter: (version: ModelVersion, modelId: string) => Promise<CopiedAdapter>;
  /** Returns the kind of the job that created a version; null if no job did. */
  readonly trainingKindOf: (version: ModelVersion) => Promise<ModelVersion["copiedKind"]>;
  /** Names of the base models, the default first. */
  readonly bases: readonly string[];
  readonly clock: Clock;
}

/** A copied adapter. It belongs to no model until `keep` is called. */
export interface CopiedAdapter extends Pick<ModelVersion, "adapterFolder" | "adapterHash" | "trainerState"> {
  /** Keeps the copy. Must be called once the new model is stored. */
  keep(): Promise<void>;
  /** Deletes the copy. Must be called if the new model will not be stored. */
  discard(): Promise<void>;
}

/**
 * Registers a model. If two concurrent calls register the same name, the second call finds the model of the first.
 *
 * @throws ServiceError, at the fields of {@link Registration}, and as `findForkSource`:
 * - `invalid` for names that a model name in a request cannot express
 * - `forbidden` for another entity, `not_found` for an unknown base model
 * - `conflict` if the model exists
 */
export async function registerModel(
  dependencies: RegisterDependencies,
  registration: Registration,
  caller: Caller,
): Promise<TrainedModel> {
  const { store, bases, clock } = dependencies;
  const { entity, project, name, baseModel, adapter, from } = registration;
  refuseBadNames({ entity, project, name });
  // An administrator creates an entity by using its name for the first time. So only names of new entities are checked.
  if (entity !== caller.entity && mayReach(caller, { entity, project })) refuseInvalidEntity(entity);
  const field = caller.entity === entity ? "project" : "entity";
  refuseOtherOwner(caller, { entity, project }, `The project ${quoted(`${entity}/${project}`)}`, field);
  refuseUnknownBase(bases, baseModel);
  const existing = await store.findByName(entity, project, name);
  if (existing !== null) return reuse(existing, registration);
  const source = from && (await findForkSource(dependencies, from, { caller, baseModel }));
  const model = { id: newUuid(), entity, project, name, baseModel, adapter, createdAt: clock.now() };
  const copy =
    source === null || source.adapterFolder === null
      ? null
      : { source, adapter: await dependencies.copyAdapter(source, model.id) };
  try {
    if (copy === null) await store.create(model, versionZero(model));
    else await store.create(model, versionZero(model), await copiedVersion(dependencies, model, copy));
  } catch (error) {
    // The model may have been stored despite the error, if the connection was lost after the commit.
    if ((await store.find(model.id)) === null) {
      if (!isOpen(error)) await copy?.adapter.discard();
      if (!(error instanceof ServiceError) || error.code !== "conflict") throw error;
      // Another request has registered the name meanwhile.
      const other = await store.findByName(entity, project, name);
      if (other === null) throw error;
      return reuse(other, registration);
    }
  }
  await copy?.adapter.keep();
  return model;
}

/**
 * True if the model may have been stored despite the error, because the connection to the database was lost. Its copied
 * adapter then stays marked as held. Once this server is gone, a sweep removes the copy unless the model exists.
 */
function isOpen(error: unknown): boolean {
  return error instanceof ServiceError && error.obstacle === "database-away";
}

function refuseBadNames(names: Readonly<Record<string, string>>): void {
  const faults: Fault[] = [];
  for (const [field, text] of Object.entries(names)) {
    if (isNamePart(text)) continue;
    const message = `Value error, ${field} is ${JSON.stringify(text)}; it may not contain blanks, slashes or colons.`;
    faults.push({ location: [field], message, type: "value_error" });
  }
  if (faults.length === 0) return;
  const message = faults.map((fault) => `${fault.location.join(".")}: ${fault.message}`).join("; ");
  throw new ServiceError({ code: "invalid", message, faults });
}

function refuseInvalidEntity(entity: string): void {
  if (isPlainPart(entity)) return;
  const message = `Value error, entity is ${quoted(entity)}; it may not be only dots, or contain percent-encoding such as "%2f".`;
  throw new ServiceError({
    code: "invalid",
    faults: [{ location: ["entity"], message, type: "value_error" }],
  });
}

function refuseUnknownBase(bases: readonly string[], baseModel: string): void {
  if (bases.includes(baseModel)) return;
  const message = `There is no base model ${quoted(baseModel)}; this server has ${bases.join(", ")}.`;
  throw refusal("not_found", "baseModel", message);
}

function reuse(existing: TrainedModel, registration: Registration): TrainedModel {
  const { name, baseModel, adapter, returnExisting } = registration;
  if (existing.baseModel !== baseModel) {
    const message = `The model ${JSON.stringify(name)} exists over the base model ${existing.baseModel}, not ${baseModel}; choose another name.`;
    throw refusal("conflict", "baseModel", message);
  }
  if (!returnExisting) {
    const message = `The model ${JSON.stringify(name)} exists; send \`returnExisting\` to use it.`;
    throw refusal("conflict", "name", message);
  }
  refuseOtherAdapter(existing, adapter);
  return existing;
}

/**
 * Refuses adapter options that differ from those of the existing model. An option that the registration omits matches
 * any value.
 */
function refuseOtherAdapter({ name, adapter: own }: TrainedModel, asked: AdapterWish): void {
  for (const field of ["rank", "alpha", "targets"] as const) {
    if (asked[field] === null || isDeepStrictEqual(asked[field], own[field])) continue;
    const kept = own[field] === null ? "chosen by the server" : shown(own[field]);
    const message = `The model ${JSON.stringify(name)} exists with ${field} ${kept}, not ${shown(asked[field])}; choose another name.`;
    throw refusal("conflict", `adapter.${field}`, message);
  }
}

function shown(wish: AdapterWish[keyof AdapterWish]): string {
  return typeof wish === "object" && wish !== null ? wish.join(", ") : String(wish);
}

function refusal(code: "not_found" | "conflict", field: string, message: string): ServiceError {
  return new ServiceError({ code, message, faults: [{ location: [field], message, type: code }] });
}

function versionZero(model: TrainedModel): ModelVersion {
  return {
    id: newUuid(),
    modelId: model.id,
    step: 0,
    adapterFolder: null,
    trainerState: null,
    jobId: null,
    metrics: {},
    isPinned: false,
    base: null,
    adapterHash: null,
    copiedKind: null,
    createdAt: model.createdAt,
  };
}

/**
 * Returns the first version of a model that starts with a copy of another model's version. It has no references to that
 * other model.
 */
async function copiedVersion(
  { trainingKindOf }: Pick<RegisterDependencies, "trainingKindOf">,
  { id: modelId, createdAt }: TrainedModel,
  { source, adapter }: { readonly source: ModelVersion; readonly adapter: CopiedAdapter },
): Promise<ModelVersion> {
  const { adapterFolder, adapterHash, trainerState } = adapter;
  const { base, metrics } = source;
  return {
    id: newUuid(),
    modelId,
    step: 1,
    adapterFolder,
    trainerState,
    jobId: null,
    metrics,
    isPinned: false,
    base,
    adapterHash,
    copiedKind: await trainingKindOf(source),
    createdAt,
  };
}
