// Names of trained models in forms.
import type { ModelObject } from "../../../client/api.ts";
import type { Hone } from "../../../client/hone.ts";
import { session } from "../../session.ts";

type Named = Pick<ModelObject, "entity" | "project" | "name">;

/** Returns the name of a model as `project/name`, after the entity if it is not the key's own. */
export function shortName({ entity, project, name }: Named): string {
  return `${entity === session.value?.key.entity ? "" : `${entity}/`}${project}/${name}`;
}

/** Parses `name`, `project/name` or `entity/project/name`. The entity is the key's own if the name has none. */
function partsOfName(text: string): Partial<Named> {
  const [name = "", project, named] = text.split("/").toReversed();
  const entity = named ?? (project === undefined ? undefined : session.value?.key.entity);
  return { name, ...(project !== undefined && { project }), ...(entity !== undefined && { entity }) };
}

/**
 * Returns the newest model with this name.
 *
 * @throws Error if there is none
 */
export async function modelNamed(hone: Hone, text: string, signal?: AbortSignal): Promise<ModelObject> {
  const query = { ...partsOfName(text), limit: 1, order: "desc" } as const;
  const page = await hone.models.list(query, { ...(signal && { signal }) }).first();
  const [model] = page.data;
  if (model === undefined) throw new Error(`There is no model ${text}.`);
  return model;
}
