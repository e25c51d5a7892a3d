// Properties of the embedded trainer that are known without loading a model: its name, its abilities, and how its
// states are named and removed.
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

/** Name of the file, in a state's folder, that contains the trainer's state. */
export const stateFileName = "optimizer.safetensors";

/** Removes a saved trainer state; see `TrainerProvider.discard`. */
export function discardState(artifacts: Pick<ArtifactStore, "remove">, state: string): Promise<void> {
  return artifacts.remove(state);
}
