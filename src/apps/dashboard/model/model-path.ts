// Names and breadcrumbs of a model. Has no side effects.
import type { ModelObject } from "../../client/api.ts";
import type { Path } from "../components/shown.tsx";
import { addressOf } from "../router.ts";

/** Returns the name by which requests select the model's newest version. */
export function nameOf({ entity, project, name }: ModelObject): string {
  return `${entity}/${project}/${name}`;
}

/**
 * Returns the breadcrumbs of a view that belongs to a model.
 *
 * @param model null until the model has loaded
 */
export function pathOfModel(id: string, model: ModelObject | null): Path {
  return [
    ["Models", addressOf("models")],
    [model === null ? "Model" : `${model.project}/${model.name}`, addressOf("models", [id])],
  ];
}

/** Returns the address of a chat with these models or versions, side by side. */
export function chatAddress(...names: readonly string[]): string {
  return `${addressOf("chat")}?${new URLSearchParams(names.map((name) => ["m", name])).toString()}`;
}
