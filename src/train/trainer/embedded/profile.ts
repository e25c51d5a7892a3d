// What is known of the embedded trainer without a model: its name, what it can, where its states lie and how one goes.
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

/** What a state is called in the folder of its name. */
export const stateFileName = "optimizer.safetensors";

/** See `TrainerProvider.discard`. */
export function discardState(artifacts: Pick<ArtifactStore, "remove">, state: string): Promise<void> {
  return artifacts.remove(state);
}
