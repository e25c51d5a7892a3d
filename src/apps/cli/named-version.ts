// Finds a trained model, and optionally a version of it, by any name that chat requests accept.
import { isUuid } from "../../base/domain/random.ts";
import { invalid } from "../../base/domain/service-error.ts";
import type { Hone } from "../client/hone.ts";
import type { ModelObject } from "../client/api.ts";

export interface NamedVersion {
  readonly model: ModelObject;
  /** Step of the version; null if the name contains none, which means the newest version. */
  readonly step: number | null;
}

/**
 * Resolves a name by asking the server, which knows all forms of names.
 *
 * @throws HoneError for an unknown model or version; ServiceError `invalid` for a base model
 */
export async function findNamed(client: Hone, name: string): Promise<NamedVersion> {
  // A lookup by id succeeds even if the model's base model is not served.
  if (isUuid(name)) return { model: await client.models.get(name), step: null };
  const { root, parent } = await client.served.get(name);
  if (parent === null) throw invalid(`${name} is a base model; name a trained one, such as project/name.`);
  const [entity, project, modelName] = root.split("/");
  const [model] = await client.models.list({ entity, project, name: modelName }).all();
  const version = /:step(\d+)$/.exec(name);
  return { model, step: version === null ? null : Number(version[1]) };
}

/**
 * Resolves a name that must contain a version.
 *
 * @throws ServiceError `invalid` if it contains none
 */
export async function findNamedStep(
  client: Hone,
  name: string,
): Promise<{ readonly model: ModelObject; readonly step: number }> {
  const { model, step } = await findNamed(client, name);
  if (step === null) throw invalid(`Say which version of ${name} you mean, such as ${name}:step1.`);
  return { model, step };
}
