// Resolves the model name in a request to a fixed version. The request completes on that version even if newer versions
// are published meanwhile. This module knows names and permissions, but not engines.
import { resolve } from "node:path";
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import { foreignMessage, mayReach, type Caller } from "../../../base/domain/access.ts";
import type { Owned } from "../../../base/domain/keys/key-scope.ts";
import { assert } from "../../../base/domain/assert.ts";
import type { AdapterReference } from "../../../base/domain/generation.ts";
import { isUuid } from "../../../base/domain/random.ts";
import {
  adapterId,
  type ModelStore,
  type ModelVersion,
  type TrainedModel,
  type VersionKey,
} from "../../../base/domain/model.ts";
import type { RolloutPass } from "../../../base/domain/rollouts/rollout.ts";
import { otherWeights } from "../../../base/domain/transient-errors/missing-base.ts";
import { ServiceError, type ErrorCode } from "../../../base/domain/service-error.ts";
import { closestName } from "../../../base/domain/text/closest-name.ts";
import { type ModelAliases, noAliases } from "./model-aliases.ts";
import { fullName, parseModelName, type ModelReference } from "./model-name.ts";

export interface ResolvedModel {
  /** Short name of the base model. */
  readonly base: string;
  /** Name in the request, or the name of the default base model. */
  readonly name: string;
  /** Name without a version: `<entity>/<project>/<name>`, or the base model's short name. */
  readonly fullName: string;
  /** Identifies the base, the version and the build of the engine. */
  readonly fingerprint: string;
  /** Adapter of the version; null for the base model itself. */
  readonly adapter: AdapterReference | null;
  /** True for versions of trained models, including step 0, which is the unchanged base model. */
  readonly isTrained: boolean;
  /** Id of the trained model; null for a base model. */
  readonly modelId: string | null;
  readonly step: number | null;
  /** Name of the project, `<entity>/<project>`; null for a base model. */
  readonly projectId: string | null;
}

export interface ModelDirectory {
  /**
   * Like `resolve`, but also returns versions that `resolve` refuses because they cannot be served. Callers can then
   * describe or change them.
   */
  find(name: string | null, caller: Caller): Promise<ResolvedModel>;
  /**
   * Resolves a name to a version that can be served.
   *
   * @param name name as in the request; null and the empty string mean the default base model
   * @throws ServiceError, at the field `model`:
   * - `not_found` for an unknown model, version or alias
   * - `forbidden` for a model of another entity
   * - `invalid` for a name that fits several models
   * - `unsupported` for a base that is not served
   * - `conflict` for a version that was trained over other weights of its base
   */
  resolve(name: string | null, caller: Caller): Promise<ResolvedModel>;
  /**
   * Translates an engine's refusal of a version's adapter into an error for the client, at the field `model` and with
   * the version's name. The code is `not_found` if the version was deleted after it was resolved.
   */
  adapterFault(model: ResolvedModel, refusal: ServiceError): Promise<ServiceError>;
}

export interface ModelDirectoryDependencies {
  readonly store: Pick<
    ModelStore,
    "find" | "findByName" | "findByShortName" | "newestVersion" | "findVersion"
  >;
  /** Short names of the base models. */
  readonly bases: readonly string[];
  /**
   * Returns the hex SHA-256 of the weights with which a base's engine computes; null while the engine is not running,
   * or if the hash is unknown.
   */
  readonly weightsOf: (base: string) => string | null;
  readonly defaultBase: string;
  /** Aliases: names that no model has, but that stand for models; absent if there are none. */
  readonly aliases?: ModelAliases;
  readonly artifacts: Pick<ArtifactStore, "path">;
  /**
   * Protects a version that a request is about to use, so that other servers do not delete it. Resolves to false if the
   * version was just deleted.
   */
  readonly useVersion: (version: VersionKey) => Promise<boolean>;
  /** Identifier of the engine's build, which is part of fingerprints. */
  readonly build: string;
  /** Returns the precision in which a base's engine computes; null for float32. */
  readonly precisionOf?: (base: string) => string | null;
}

export function createModelDirectory(dependencies: ModelDirectoryDependencies): ModelDirectory {
  const { store, bases, defaultBase, weightsOf, aliases = noAliases } = dependencies;
  assert(bases.includes(defaultBase), "the default base model is served");

  /** Returns the base's name with the hash of its weights, for fingerprints. */
  const named = (base: string): string => {
    const weights = weightsOf(base);
    return weights === null ? base : `${base}#${weights.slice(0, 12)}`;
  };
  /** Results differ between precisions, so each precision has its own fingerprint, like a separate build. */
  const buildOf = (base: string): string => {
    const precision = dependencies.precisionOf?.(base) ?? null;
    return precision === null ? dependencies.build : `${dependencies.build}-${precision}`;
  };
  const ofBase = (base: string, name: string): ResolvedModel => {
    const fingerprint = `${named(base)}@base+${buildOf(base)}`;
    return { base, name, fullName: base, fingerprint, adapter: null, isTrained: false, ...ofNoModel };
  };
  const ofVersion = async (
    model: TrainedModel,
    version: ModelVersion,
    name: string,
  ): Promise<ResolvedModel> => ({
    base: model.baseModel,
    name,
    fullName: fullName(model),
    fingerprint: `${named(model.baseModel)}@${model.id}:step${version.step}+${buildOf(model.baseModel)}`,
    adapter: await adapterOf(version, dependencies.artifacts),
    isTrained: true,
    modelId: model.id,
    step: version.step,
    projectId: `${model.entity}/${model.project}`,
  });
  const findVersion = async (
    model: TrainedModel,
    reference: ModelReference,
    name: string,
  ): Promise<ModelVersion> => {
    const { version } = reference;
    const newest = await store.newestVersion(model.id);
    const found =
      version === "newest" ? newest : version === null ? null : await store.findVersion(model.id, version);
    if (found !== null) return found;
    throw fault(
      "not_found",
      `The model ${quoted(name)} has no such version; its newest is :step${newest?.step ?? 0}. ${howToList}`,
    );
  };

  /** In a rollout, every name refers to the rollout's model, because agents request the models of their own makers. */
  const findOfRollout = async (name: string | null, pass: RolloutPass): Promise<ResolvedModel> => {
    const model = await store.find(pass.modelId);
    if (model === null) throw unknown(pass.modelId, bases);
    const version = pass.pinnedStep ?? "newest";
    return ofModel(model, { path: [], version }, name === null || name === "" ? fullName(model) : name);
  };
  const ofModel = async (
    model: TrainedModel,
    reference: ModelReference,
    name: string,
  ): Promise<ResolvedModel> => {
    if (!bases.includes(model.baseModel)) {
      throw fault(
        "unsupported",
        `The model ${quoted(name)} is trained over ${quoted(model.baseModel)}, which this server does not serve.`,
      );
    }
    return ofVersion(model, await findVersion(model, reference, name), name);
  };

  const find: ModelDirectory["find"] = async (name, caller) => {
    const pass = caller.rollout ?? null;
    if (pass !== null) return findOfRollout(name, pass);
    if (name === null || name === "") return ofBase(defaultBase, defaultBase);
    try {
      return await findNamed(name, caller);
    } catch (error) {
      const target = error instanceof ServiceError && error.code === "not_found" ? aliases(name) : null;
      if (target === null) throw error;
      return { ...(await findNamed(target, caller)), name };
    }
  };
  const findNamed = async (name: string, caller: Caller): Promise<ResolvedModel> => {
    if (bases.includes(name)) return ofBase(name, name);
    const reference = parseModelName(name);
    if (reference === null) throw unknown(name, bases);
    const path = reference.path.join("/");
    if (bases.includes(path)) {
      if (reference.version === "newest" || reference.version === 0) return ofBase(path, name);
      throw fault(
        "not_found",
        `${quoted(path)} is a base model, which has no versions such as ${quoted(name)}. ${howToList}`,
      );
    }
    return ofModel(await findModel({ store, bases }, reference, name, caller), reference, name);
  };
  const isKept = async ({ adapter, modelId, step }: ResolvedModel): Promise<boolean> =>
    adapter === null ||
    modelId === null ||
    step === null ||
    (await dependencies.useVersion({ modelId, step }));
  return {
    find,
    resolve: async (name, caller) => {
      let found = await find(name, caller);
      while (!(await isKept(found))) found = await find(name, caller);
      const trained = found.adapter?.base;
      const weights = weightsOf(found.base);
      if (trained === undefined || weights === null || trained === weights) return found;
      throw fault("conflict", `${versionOf(found.step, found.name)} ${otherWeights(trained, weights)}`);
    },
    adapterFault: async ({ modelId, step, name }, refusal) => {
      if (modelId === null || step === null) return refusal;
      const version = await store.findVersion(modelId, step);
      const named = versionOf(step, name);
      return version === null
        ? fault("not_found", `${named} was deleted just now. ${howToList}`)
        : fault("conflict", `${named} cannot be used. ${refusal.message}`, refusal.cause);
    },
  };
}

const ofNoModel = { modelId: null, step: null, projectId: null } as const;

async function findModel(
  { store, bases }: Pick<ModelDirectoryDependencies, "store" | "bases">,
  { path }: ModelReference,
  name: string,
  caller: Caller,
): Promise<TrainedModel> {
  if (path.length === 1 && isUuid(path[0])) {
    const model = await store.find(path[0].toLowerCase());
    if (model === null) throw unknown(name, bases);
    refuse(caller, model, name);
    return model;
  }
  if (path.length === 3) {
    const [entity, project, modelName] = path;
    refuse(caller, { entity, project }, name);
    const model = await store.findByName(entity, project, modelName);
    if (model === null) throw unknown(name, bases);
    return model;
  }
  const asked = { project: path.length === 2 ? path[0] : null, name: path.at(-1) ?? "" };
  const { entity, role } = caller;
  if (caller.project !== null && asked.project !== null)
    refuse(caller, { entity, project: asked.project }, name);
  const own = await matching(store, entity, { ...asked, project: asked.project ?? caller.project });
  // An administrator may use models of all entities by short names. Models of the administrator's own entity take
  // precedence, so that another entity cannot change the meaning of a name by creating a model.
  const matches = own.length > 0 || role !== "admin" ? own : await matching(store, null, asked);
  if (matches.length === 0) throw unknown(name, bases);
  if (matches.length > 1) throw ambiguous(name, matches);
  return matches[0];
}

/**
 * Maximum number of matches to read. The error lists all matches but the last, which only shows that there are more.
 */
const matchCountMax = 6;

function matching(
  store: ModelDirectoryDependencies["store"],
  entity: string | null,
  { project, name }: { readonly project: string | null; readonly name: string },
): Promise<readonly TrainedModel[]> {
  return store.findByShortName(entity, project, name, matchCountMax);
}

/** Returns the reference that an engine needs to load a version's adapter; null for step 0, which has no adapter. */
export async function adapterOf(
  version: ModelVersion,
  artifacts: Pick<ArtifactStore, "path">,
): Promise<AdapterReference | null> {
  const { modelId, step, adapterFolder, base, adapterHash: hash } = version;
  if (adapterFolder === null) return null;
  return {
    id: adapterId(modelId, step),
    // The engine reads the adapter from this folder, and checks that its content has the stored hash.
    folder: resolve(await artifacts.path(adapterFolder, null)),
    ...(base === null ? {} : { base }),
    ...(hash === null ? {} : { hash }),
  };
}

function versionOf(step: number | null, name: string): string {
  return `Version ${step} of the model ${quoted(name)}`;
}

/** Maximum number of base models that an error names. */
const namedBasesMax = 5;

const howToList = "GET /v1/models lists the models you can use.";

/**
 * Returns the error for an unknown name. It suggests only base models, because all other names are private to their
 * entities.
 */
function unknown(name: string, bases: readonly string[]): ServiceError {
  const meant = closestName(name, bases);
  const hint = meant === null ? ` ${namedBases(bases)}` : ` Did you mean ${meant}?`;
  return fault("not_found", `The model ${quoted(name)} does not exist.${hint} ${howToList}`);
}

function namedBases(bases: readonly string[]): string {
  const rest = bases.length > namedBasesMax ? ` and ${bases.length - namedBasesMax} more` : "";
  return `The base models are ${bases.slice(0, namedBasesMax).join(", ")}${rest}.`;
}

function ambiguous(name: string, matches: readonly TrainedModel[]): ServiceError {
  const isCut = matches.length === matchCountMax;
  const named = isCut ? matches.slice(0, -1) : matches;
  const count = isCut ? `more than ${named.length}` : named.length;
  const names = `${named.map(fullName).join(", ")}${isCut ? ", ..." : ""}`;
  return fault(
    "invalid",
    `${quoted(name)} matches ${count} models (${names}); give entity/project/name or the id.`,
  );
}

function refuse(caller: Caller, owned: Owned, name: string): void {
  if (!mayReach(caller, owned))
    throw fault("forbidden", foreignMessage(caller, owned, `The model ${quoted(name)}`));
}

function fault(code: ErrorCode, message: string, cause?: unknown): ServiceError {
  return new ServiceError({
    code,
    message,
    faults: [{ location: ["model"], message, type: "value_error" }],
    cause,
  });
}

function quoted(name: string): string {
  return JSON.stringify(name.length > 200 ? `${name.slice(0, 200)}...` : name);
}
