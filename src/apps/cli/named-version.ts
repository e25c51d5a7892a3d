// A trained model, and maybe a version of it, by any name that a chat takes as its model.
import { isUuid } from "../../base/domain/random.ts";
import { invalid } from "../../base/domain/service-error.ts";
import type { Hone } from "../client/hone.ts";
import type { ModelObject } from "../client/api.ts";

export interface NamedVersion {
  readonly model: ModelObject;
  /** Null where the name has none: it stands for the newest then. */
  readonly step: number | null;
}

/**
 * Finds what a name stands for; the server knows its spellings.
 *
 * @throws HoneError when there is no such model or version; ServiceError `invalid` for a base model
 */
export async function findNamed(client: Hone, name: string): Promise<NamedVersion> {
  // Found also where its base model is not served.
  if (isUuid(name)) return { model: await client.models.get(name), step: null };
  const { root, parent } = await client.served.get(name);
  if (parent === null) throw invalid(`${name} is a base model; name a trained one, such as project/name.`);
  const [entity, project, modelName] = root.split("/");
  const [model] = await client.models.list({ entity, project, name: modelName }).all();
  const version = /:step(\d+)$/.exec(name);
  return { model, step: version === null ? null : Number(version[1]) };
}

/** The same of a name that has to say its version. @throws ServiceError `invalid` when it does not */
export async function findNamedStep(
  client: Hone,
  name: string,
): Promise<{ readonly model: ModelObject; readonly step: number }> {
  const { model, step } = await findNamed(client, name);
  if (step === null) throw invalid(`Say which version of ${name} you mean, such as ${name}:step1.`);
  return { model, step };
}
