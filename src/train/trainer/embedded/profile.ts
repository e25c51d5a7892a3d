// Properties of the embedded trainer that need no model: its name, its abilities, and the file name and removal of its
// states.
import type { ArtifactStore } from "../../../store/artifacts/artifact-store.ts";
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";

export const embeddedProfile: TrainerProfile = {
  name: "embedded",
  losses: ["policy", "cross-entropy", "preference"],
  hasBasePass: true,
  isRepeatable: true,
  basePrecisions: ["float32", "int8"],
  takesAdapters: true,
};

/** File name of a state in its folder. */
export const stateFileName = "optimizer.safetensors";

/** See `TrainerProvider.discard`. */
export function discardState(artifacts: Pick<ArtifactStore, "remove">, state: string): Promise<void> {
  return artifacts.remove(state);
}
