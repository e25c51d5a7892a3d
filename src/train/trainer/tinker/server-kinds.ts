// What is known of each kind of server that speaks the Tinker API: they share its calls, and differ in what these do.
import type { OptimizerStep } from "../trainer.ts";

export interface ServerKind {
  /** How data go there; `auto` tries protocol buffers, and JSON where these are refused. */
  readonly encoding: "protobuf" | "json" | "auto";
  /**
   * What a server makes of the losses of tokens, each times its weight: their sum, or for each of the data their mean by
   * weight, and of these the mean over all data since the last optimizer step.
   */
  readonly normalization: "sum" | "mean-of-data";
  /** Whether it has several models at once, so that one without training gives what the base does. */
  readonly hasBasePass: boolean;
  /** Whether an operation that comes again with its sequence number is done once: one whose answer was lost can be sent again. */
  readonly isRepeatSafe: boolean;
  /** What of an optimizer step the server has a configuration of its own for, or is asked to leave out, whatever a job says. */
  readonly fixedInStep: readonly (keyof OptimizerStep)[];
  /** What adapters of a rank are scaled by, divided by that rank; null where the server's configuration says it. */
  readonly alphaOf: ((rank: number) => number) | null;
  /** Where an adapter is fetched: from an archive that it gives, or from a folder that both see. */
  readonly adapters: "archive" | "folder";
  /** Whether it asks for a key. */
  readonly needsKey: boolean;
  /** Whether archives may lie at another address, which gets no key. */
  readonly redirectsElsewhere: boolean;
}

const inSum = {
  encoding: "auto",
  normalization: "sum",
  hasBasePass: true,
  isRepeatSafe: true,
  fixedInStep: ["gradientNormMax"],
  alphaOf: null,
  adapters: "archive",
  needsKey: false,
  redirectsElsewhere: false,
} as const satisfies ServerKind;

/** SkyRL's FSDP and Megatron backends have Adam and the clipping of gradients in their own configuration. */
const stepOfServer = ["beta1", "beta2", "epsilon", "weightDecay", "gradientNormMax"] as const;

const skyrlTrain = { ...inSum, fixedInStep: stepOfServer, adapters: "folder" } as const;

export const serverKinds = {
  "skyrl-jax": {
    ...inSum,
    normalization: "mean-of-data",
    // Its optimizer decays the adapters of all models at each step of one (0.4.0: compute_grads_and_update of backends/jax.py).
    fixedInStep: ["weightDecay", "gradientNormMax"],
    alphaOf: () => 32,
  },
  /** One model at a time. */
  "skyrl-fsdp": { ...skyrlTrain, hasBasePass: false },
  "skyrl-megatron": skyrlTrain,
  tuft: { ...inSum, encoding: "protobuf", alphaOf: (rank: number) => 2 * rank, needsKey: true },
  "open-rl": { ...inSum, isRepeatSafe: false, adapters: "folder" },
  tinker: {
    ...inSum,
    encoding: "protobuf",
    fixedInStep: [],
    alphaOf: () => 32,
    needsKey: true,
    redirectsElsewhere: true,
  },
} as const satisfies Record<string, ServerKind>;

export type ServerKindName = keyof typeof serverKinds;

export const serverKindNames = Object.keys(serverKinds) as readonly ServerKindName[];
