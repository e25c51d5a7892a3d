// Properties of a remote trainer that are known before any request: the jobs it can run.
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { TrainerAddress } from "./trainer-address.ts";
import { serverKinds } from "./server-kinds.ts";

/** Each loss's gradient is that of a weighted sum of log-probabilities, which any server computes. */
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
