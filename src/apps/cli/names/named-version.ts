// Finds a trained model, and optionally a version of it, by any name that chat requests accept, or by an id prefix.
import { isUuid } from "../../../base/domain/random.ts";
import { invalid } from "../../../base/domain/service-error.ts";
import { closestName } from "../../../base/domain/text/closest-name.ts";
import type { Hone } from "../../client/hone.ts";
import { HoneError } from "../../client/hone-error.ts";
import type { ModelObject, ServedModel } from "../../client/api.ts";
import { findById, isIdPrefix } from "./find-by-id.ts";

export interface NamedVersion {
  readonly model: ModelObject;
  /** Step of the version; null if the name contains none, which means the newest version. */
  readonly step: number | null;
}

/** Converts a name such as `name@3` to the form that the server accepts, `name:step3`. */
export function toServerModelName(name: string): string {
  return name.replace(/@(\d+)$/, ":step$1");
}

/**
 * Resolves a name by asking the server, which knows all forms of names. A text that is no name may be an id prefix.
 *
 * @throws HoneError for an unknown model or version; ServiceError `invalid` for a base model or an ambiguous prefix
 */
export async function findNamed(client: Hone, typed: string): Promise<NamedVersion> {
  const name = toServerModelName(typed);
  // A lookup by id succeeds even if the model's base model is not served.
  if (isUuid(name)) return { model: await client.models.get(name), step: null };
  const served = await client.served.get(name).catch(async (error: unknown) => {
    if (!isNotFound(error)) throw error;
    if (!isIdPrefix(name)) throw await withSuggestion(client, name, error);
    return null;
  });
  if (served === null) return { model: await findModelById(client, name), step: null };
  return versionOf(client, name, served);
}

function findModelById(client: Hone, typed: string): Promise<ModelObject> {
  const sought = { noun: "model", list: "hone models list", isNamed: () => false };
  return findById(typed, client.models.list(), sought);
}

/** Returns the error with the name of a trained model that the user may have meant; the error itself if none is close. */
export async function withSuggestion(client: Hone, typed: string, error: HoneError): Promise<HoneError> {
  if (error.message.includes("Did you mean")) return error;
  const models = await client.models.list().all();
  const isWhole = typed.split("/").length > 2;
  const names = models.map(({ entity, project, name }) => `${isWhole ? `${entity}/` : ""}${project}/${name}`);
  const [stem, version = ""] = typed.split(/(?=:step\d+$)/);
  const meant = closestName(stem, names);
  if (meant === null) return error;
  const message = `The model ${JSON.stringify(typed)} does not exist. Did you mean ${meant}${version}? \`hone models list\` lists the models you can use.`;
  return new HoneError({ status: error.status, code: error.code, message, cause: error });
}

/** True if a model does not exist; false if it exists, but not in this version. */
export function isNotFound(error: unknown): error is HoneError {
  return error instanceof HoneError && error.status === 404 && error.message.includes("does not exist");
}

async function versionOf(client: Hone, name: string, { root, parent }: ServedModel): Promise<NamedVersion> {
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
