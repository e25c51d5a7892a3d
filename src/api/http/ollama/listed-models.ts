// Finds the models of this server as Ollama's API lists them: the base models, then the caller's trained models with
// their versions.
import type { Caller } from "../../../base/domain/access.ts";
import { parseModelName } from "../../../inference/models/registry/model-name.ts";
import type { ListedModel } from "../../wire/ollama/models.ts";
import type { HttpDependencies } from "../dependencies.ts";

type Dependencies = Pick<HttpDependencies, "baseModels" | "models" | "directory" | "versions">;

/** Returns the base models. */
export function listBases({ baseModels }: Dependencies, startedAt: Date): readonly ListedModel[] {
  return baseModels().map((base) => ({ name: base.name, modifiedAt: startedAt, base, version: null }));
}

/** Returns all models that the caller may use. A trained model is followed by its versions, the oldest first. */
export async function listModels(
  dependencies: Dependencies,
  caller: Caller,
  startedAt: Date,
): Promise<readonly ListedModel[]> {
  const bases = dependencies.baseModels();
  const names = await dependencies.models.listServedNames(caller);
  const newest = new Map<string, number>();
  const stepOf = (name: string): number | null => {
    const version = parseModelName(name)?.version;
    return typeof version === "number" ? version : null;
  };
  for (const { name, model } of names) newest.set(model.id, stepOf(name) ?? newest.get(model.id) ?? 0);
  const trained = names.map(({ name, model, createdAt }) => ({
    name,
    modifiedAt: createdAt,
    base: bases.find((base) => base.name === model.baseModel) ?? null,
    version: { modelId: model.id, step: stepOf(name) ?? newest.get(model.id) ?? 0 },
  }));
  return [...listBases(dependencies, startedAt), ...trained];
}

/**
 * Returns the model with this name.
 *
 * @throws ServiceError as `ModelDirectory.find`
 */
export async function findModel(
  dependencies: Dependencies,
  name: string,
  { caller, startedAt }: { readonly caller: Caller; readonly startedAt: Date },
): Promise<ListedModel> {
  const { base: baseName, modelId, step } = await dependencies.directory.find(name, caller);
  const base = dependencies.baseModels().find((one) => one.name === baseName) ?? null;
  if (modelId === null || step === null)
    return { name: baseName, modifiedAt: startedAt, base, version: null };
  const version = await dependencies.versions.findVersion(modelId, step);
  return { name, modifiedAt: version?.createdAt ?? startedAt, base, version: { modelId, step } };
}
