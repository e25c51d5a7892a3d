// Properties of each kind of Tinker API server. All kinds offer the same calls, but differ in behavior.
import type { OptimizerStep } from "../trainer.ts";

export interface ServerKind {
  /** Encoding of requests with data; `auto` tries protocol buffers first, then JSON. */
  readonly encoding: "protobuf" | "json" | "auto";
  /**
   * How the server combines the weighted losses of tokens. `sum` adds them. `mean-of-data` divides the sum of each
   * datum by the sum of its weights, and the total by the number of data since the last optimizer step.
   */
  readonly normalization: "sum" | "mean-of-data";
  /**
   * True if the server can hold several models at once, so that a second, untrained model can serve as the base model.
   */
  readonly hasBasePass: boolean;
  /**
   * True if the server deduplicates operations by sequence number, so that an operation without an answer can be sent
   * again.
   */
  readonly isRepeatSafe: boolean;
  /**
   * Fields of an optimizer step that a job cannot set on this server. Either the server's configuration decides them,
   * or Hone does not send them.
   */
  readonly fixedInStep: readonly (keyof OptimizerStep)[];
  /** Returns the LoRA alpha that the server uses for a rank; null if the server's configuration decides it. */
  readonly alphaOf: ((rank: number) => number) | null;
  /** Source of trained adapters: archives that the server sends, or a folder that the server and Hone share. */
  readonly adapters: "archive" | "folder";
  /** True if the server requires an API key. */
  readonly needsKey: boolean;
  /** True if the server may redirect to archives at another address, to which the API key is not sent. */
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

/** Settings of a step that SkyRL's FSDP and Megatron backends take from their own configuration. */
const stepOfServer = ["beta1", "beta2", "epsilon", "weightDecay", "gradientNormMax"] as const;

const skyrlTrain = { ...inSum, fixedInStep: stepOfServer, adapters: "folder" } as const;

export const serverKinds = {
  "skyrl-jax": {
    ...inSum,
    normalization: "mean-of-data",
    // `weightDecay` is not sent: in each step of one adapter, the server's optimizer also decays the weights of all
    // other adapters (version 0.4.0, compute_grads_and_update in backends/jax.py).
    fixedInStep: ["weightDecay", "gradientNormMax"],
    alphaOf: () => 32,
  },
  /** These servers hold only one model at a time. */
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
