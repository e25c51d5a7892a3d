// Properties of a remote trainer that are known before any request, such as the jobs that it can run.
import type { TrainerProfile } from "../../../base/domain/trainer/profile.ts";
import type { TrainerAddress } from "./trainer-address.ts";
import { serverKinds } from "./server-kinds.ts";

/**
 * Supported losses. The gradient of each can be written as that of a weighted sum of log-probabilities, which every
 * server can compute.
 */
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
