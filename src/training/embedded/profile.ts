// What is known of the embedded trainer without a model: its name, what it can, where its states lie and how one goes.
import { rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { TrainerProfile } from "../../domain/trainer/profile.ts";

export const embeddedProfile: TrainerProfile = {
  name: "embedded",
  losses: ["policy", "cross-entropy"],
  hasBasePass: true,
  isRepeatable: true,
  takesAdapters: true,
};

/** What a state is called in the folder of its name. */
export const stateFileName = "optimizer.safetensors";

/** See `TrainerProvider.discard`. */
export async function discardState(dataFolder: string, state: string): Promise<void> {
  const file = join(dataFolder, state);
  await rm(file, { force: true });
  // A folder without anything else was the state's alone.
  await rmdir(dirname(file)).catch(() => undefined);
}
