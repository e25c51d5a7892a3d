// Finds the weights from which a live model starts: a new adapter, or saved weights with or without their optimizer.
import { ServiceError } from "../../base/domain/service-error.ts";
import { ownState } from "../../base/domain/trainer/profile.ts";
import { adapterSeal } from "../../inference/architectures/hashes/adapter-hash.ts";
import type { TrainerStart } from "../trainer/trainer.ts";
import type { SavedPlace } from "./saved-weights.ts";
import type { ModelRequest, SessionDependencies } from "./session-requests.ts";

/** @throws ServiceError `unsupported` if the client wants the optimizer's state, but it was not saved */
export async function startWeights(
  { artifacts, trainer }: Pick<SessionDependencies, "artifacts" | "trainer">,
  { fresh, from }: Pick<ModelRequest, "fresh" | "from">,
  source: SavedPlace | null,
): Promise<TrainerStart> {
  if (source === null || from === null) return { kind: "new", seed: fresh?.seed ?? "" };
  const { adapterFolder, adapterHash, trainerState } = source.version;
  const state = ownState(trainer, trainerState);
  if (state !== null) return { kind: "state", state, keepsOptimizer: from.keepsOptimizer };
  if (from.keepsOptimizer) throw withoutOptimizer(from.path);
  return { kind: "adapter", folder: await artifacts.path(adapterFolder ?? "", adapterSeal(adapterHash)) };
}

function withoutOptimizer(path: string): ServiceError {
  return new ServiceError({
    code: "unsupported",
    message: `${path} has no state of the optimizer, because it was saved for sampling. Load it without the optimizer, or load weights that save_state saved.`,
  });
}
