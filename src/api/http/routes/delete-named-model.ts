// Deletes the trained model, or the version, that a name refers to.
import type { Caller } from "../../../base/domain/access.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import { parseModelName } from "../../../inference/models/registry/model-name.ts";
import type { HttpDependencies } from "../dependencies.ts";

/**
 * Deletes a model with its versions, or only the version that the name ends with.
 *
 * @throws ServiceError as `ModelDirectory.find`; `unsupported` for a base model or an alias; `conflict` for a version
 * that is pinned or in use
 */
export async function deleteNamedModel(
  { directory, models }: Pick<HttpDependencies, "directory" | "models">,
  name: string,
  caller: Caller,
): Promise<void> {
  const { modelId, step } = await directory.find(name, caller);
  if (modelId === null) {
    const message = `${cut(name)} is a base model, which only the operator can remove, with \`hone models remove\`.`;
    throw new ServiceError({ code: "unsupported", message });
  }
  const model = await models.find(modelId, caller);
  const { path = [], version = "newest" } = parseModelName(name) ?? {};
  if (![model.id, model.name].includes(path.at(-1) ?? "")) {
    const message = `${cut(name)} is an alias, which only the operator can remove, from the setting server.modelAliases.`;
    throw new ServiceError({ code: "unsupported", message });
  }
  if (typeof version !== "number") return void (await models.delete(model));
  const { pinned, inUse } = await models.deleteVersions(model, [step ?? 0]);
  if (pinned.length + inUse.length === 0) return;
  const reason = pinned.length > 0 ? "it is pinned" : "a training job starts from it";
  throw new ServiceError({ code: "conflict", message: `${cut(name)} was not deleted, because ${reason}.` });
}
