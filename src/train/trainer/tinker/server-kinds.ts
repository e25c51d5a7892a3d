// Properties of each kind of Tinker API server: they share its calls and differ in behaviour.
import type { OptimizerStep } from "../trainer.ts";

export interface ServerKind {
  /** Encoding of data; `auto` tries protocol buffers, then JSON. */
  readonly encoding: "protobuf" | "json" | "auto";
  /**
   * The server's sum of the weighted token losses. `mean-of-data` divides by each datum's weights, then by the number
   * of data since the last optimizer step.
   */
  readonly normalization: "sum" | "mean-of-data";
  /** True if it holds several models at once, so that an untrained one can serve as the base. */
  readonly hasBasePass: boolean;
  /** True if it deduplicates operations by sequence number, so that one whose answer was lost can be sent again. */
  readonly isRepeatSafe: boolean;
  /** Fields of an optimizer step that the server's configuration decides or that are left out, regardless of the job. */
  readonly fixedInStep: readonly (keyof OptimizerStep)[];
  /** LoRA alpha for a rank; null if the server's configuration decides it. */
  readonly alphaOf: ((rank: number) => number) | null;
  /** Source of adapters: an archive that the server sends, or a folder that both see. */
  readonly adapters: "archive" | "folder";
  /** True if the server requires a key. */
  readonly needsKey: boolean;
  /** True if archives may be at another address, which gets no key. */
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

/** SkyRL's FSDP and Megatron backends configure Adam and gradient clipping themselves. */
const stepOfServer = ["beta1", "beta2", "epsilon", "weightDecay", "gradientNormMax"] as const;

const skyrlTrain = { ...inSum, fixedInStep: stepOfServer, adapters: "folder" } as const;

export const serverKinds = {
  "skyrl-jax": {
    ...inSum,
    normalization: "mean-of-data",
    // Its optimizer decays the adapters of all models in each step of one (0.4.0: compute_grads_and_update of
    // backends/jax.py).
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
