// Properties of each kind of Tinker API server. All kinds offer the same calls, but behave differently.
import type { OptimizerStep } from "../trainer.ts";

export interface ServerKind {
  /** Encoding of requests that contain training data; `auto` tries protocol buffers first, then JSON. */
  readonly encoding: "protobuf" | "json" | "auto";
  /**
   * How the server combines the weighted losses of tokens. `sum` adds them. `mean-of-data` divides each datum's sum by
   * the sum of its weights, and the total by the number of data since the last optimizer step.
   */
  readonly normalization: "sum" | "mean-of-data";
  /**
   * True if the server can hold several models at once, so that a second, untrained model can serve as the base model.
   */
  readonly hasBasePass: boolean;
  /**
   * True if the server recognizes repeated operations by their sequence number, so that an operation without an answer
   * can be sent again.
   */
  readonly isRepeatSafe: boolean;
  /**
   * Fields of an optimizer step that a job cannot set on this server, because the server's configuration decides them
   * or Hone does not send them.
   */
  readonly fixedInStep: readonly (keyof OptimizerStep)[];
  /** Returns the LoRA alpha that the server uses for a rank; null if the server's configuration decides it. */
  readonly alphaOf: ((rank: number) => number) | null;
  /**
   * How Hone gets trained adapters: in an archive that the server sends, or from a folder that the server and Hone
   * share.
   */
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

/** Fields of an optimizer step for which SkyRL's FSDP and Megatron backends use their own configuration. */
const stepOfServer = ["beta1", "beta2", "epsilon", "weightDecay", "gradientNormMax"] as const;

const skyrlTrain = { ...inSum, fixedInStep: stepOfServer, adapters: "folder" } as const;

export const serverKinds = {
  "skyrl-jax": {
    ...inSum,
    normalization: "mean-of-data",
    // Does not send `weightDecay`, because the server's optimizer would decay the weights of all adapters in each step
    // of one adapter (version 0.4.0, compute_grads_and_update in backends/jax.py).
    fixedInStep: ["weightDecay", "gradientNormMax"],
    alphaOf: () => 32,
  },
  /** FSDP servers hold only one model at a time, so a second model cannot serve as the base model. */
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
