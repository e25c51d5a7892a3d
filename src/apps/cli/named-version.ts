// Finds a trained model, and optionally a version of it, by any name that a chat accepts.
import { isUuid } from "../../base/domain/random.ts";
import { invalid } from "../../base/domain/service-error.ts";
import type { Hone } from "../client/hone.ts";
import type { ModelObject } from "../client/api.ts";

export interface NamedVersion {
  readonly model: ModelObject;
  /** Null if the name has no version; it then means the newest. */
  readonly step: number | null;
}

/**
 * Resolves a name on the server, which knows all spellings.
 *
 * @throws HoneError for an unknown model or version; ServiceError `invalid` for a base model
 */
export async function findNamed(client: Hone, name: string): Promise<NamedVersion> {
  // An id is found even if its base model is not served.
  if (isUuid(name)) return { model: await client.models.get(name), step: null };
  const { root, parent } = await client.served.get(name);
  if (parent === null) throw invalid(`${name} is a base model; name a trained one, such as project/name.`);
  const [entity, project, modelName] = root.split("/");
  const [model] = await client.models.list({ entity, project, name: modelName }).all();
  const version = /:step(\d+)$/.exec(name);
  return { model, step: version === null ? null : Number(version[1]) };
}

/** Resolves a name that must include a version. @throws ServiceError `invalid` if it does not */
export async function findNamedStep(
  client: Hone,
  name: string,
): Promise<{ readonly model: ModelObject; readonly step: number }> {
  const { model, step } = await findNamed(client, name);
  if (step === null) throw invalid(`Say which version of ${name} you mean, such as ${name}:step1.`);
  return { model, step };
}
