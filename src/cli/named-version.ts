// A trained model, and maybe a version of it, by any name that a chat takes as its model.
import { isUuid } from "../domain/ids.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { HoneClient } from "../client/hone-client.ts";
import type { ModelResource } from "../client/resources.ts";

export interface NamedVersion {
  readonly model: ModelResource;
  /** Null where the name has none: it stands for the newest then. */
  readonly step: number | null;
}

/**
 * Finds what a name stands for; the server knows its spellings.
 *
 * @throws HoneApiError when there is no such model or version; ServiceError `invalid` for a base model
 */
export async function findNamed(client: HoneClient, name: string): Promise<NamedVersion> {
  // Found also where its base model is not served.
  if (isUuid(name)) return { model: await client.findModel(name), step: null };
  const { root, parent } = await client.findServedModel(name);
  if (parent === null) throw invalid(`${name} is a base model; name a trained one, such as project/name.`);
  const [entity, project, modelName] = root.split("/");
  const [model] = await client.listModels({ entity, project, name: modelName });
  const version = /:step(\d+)$/.exec(name);
  return { model, step: version === null ? null : Number(version[1]) };
}

/** The same of a name that has to say its version. @throws ServiceError `invalid` when it does not */
export async function findNamedStep(
  client: HoneClient,
  name: string,
): Promise<{ readonly model: ModelResource; readonly step: number }> {
  const { model, step } = await findNamed(client, name);
  if (step === null) throw invalid(`Say which version of ${name} you mean, such as ${name}:step1.`);
  return { model, step };
}

function invalid(message: string): ServiceError {
  return new ServiceError({ code: "invalid", message });
}
