// What is known of a trainer elsewhere before anything is asked of it: what the server may give it as jobs.
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { TrainerAddress } from "./trainer-address.ts";
import { serverKinds } from "./server-kinds.ts";

/** Every loss is a weighted sum of log-probabilities by its gradient, which any server computes. */
const losses: TrainerProfile["losses"] = ["policy", "cross-entropy", "preference"];

export function tinkerProfile({ kind }: Pick<TrainerAddress, "kind">): TrainerProfile {
  const { hasBasePass, fixedInStep } = serverKinds[kind];
  return {
    name: `tinker-${kind}`,
    losses,
    hasBasePass,
    isRepeatable: false,
    basePrecisions: ["float32"],
    takesAdapters: false,
    fixedInStep,
  };
}
