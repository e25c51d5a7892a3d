// Name of the model of a recorded chat. Has no side effects.
import type { StoredChatCompletion } from "../../client/api.ts";

/**
 * Returns the full name of the model, without the version. A request may have named its model by the id, or without the
 * entity, so the same model would have several names.
 *
 * @param names full names of models by id; if the model is not there, the name of the request is used
 */
export function recordedModel(
  {
    model,
    model_id: id,
    project_id: project,
  }: Pick<StoredChatCompletion, "model" | "model_id" | "project_id">,
  names: ReadonlyMap<string, string>,
): string {
  const asked = model.replace(/:step\d+$/, "");
  return names.get(id) ?? (asked === id ? id : `${project}/${asked.split("/").at(-1)}`);
}
