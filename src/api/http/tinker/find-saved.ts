// Finds the saved weights that the path of a request names.
import type { Caller } from "../../../base/domain/access.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import { pathOf, savedIdOf, savedKinds } from "../../../train/sessions/run-names.ts";
import type { SavedPlace, SavedWeights } from "../../../train/sessions/saved-weights.ts";

export interface CheckpointParameters {
  readonly run_id: string;
  readonly kind: string;
  readonly checkpoint: string;
}

/** @throws ServiceError `not_found`, also for weights of another entity */
export async function findSaved(
  saved: SavedWeights,
  { run_id: runId, kind: kindName, checkpoint: name }: CheckpointParameters,
  caller: Caller,
): Promise<SavedPlace & { readonly path: string }> {
  const found = await saved.findRun(runId, caller);
  const kind = savedKinds.find((each) => each === kindName);
  const id = kind === undefined ? null : savedIdOf({ kind, name });
  const version = id === null ? null : await saved.findIn(found.model, id);
  if (version === null) throw notFound("checkpoint", `${kindName}/${name}`);
  return { ...found, version, path: pathOf(found.run, version.saved.id) };
}
