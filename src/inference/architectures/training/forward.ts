// The decoder as a training computation: log-probabilities of given tokens at given positions of whole sequences, with
// a gradient. The trainer adds the loss, the gradient and the optimizer.
import type { ProjectionName } from "../../../base/domain/model.ts";
import { present } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct, type Dimension } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../config.ts";
import { addDecoderLayers, addRotaryTables, declareWeights } from "../decoder.ts";
import {
  embeddingRows,
  outputLogprobs,
  storedExpertLinear,
  storedLinear,
  type DecoderLora,
} from "../linear.ts";
import { loraParameters, outputProjection } from "../parameters.ts";
import type { WeightForms } from "../quantized/weight-forms.ts";
import { type TokenLayout, arrangeTokens } from "./layout.ts";

export interface TrainingInputs {
  /** Layout of the tokens; every position is below the context length. */
  readonly layout: TokenLayout;
  /**
   * int64 [N]: the tokens whose successor is scored, as indices into the flattened layout (b·T + t in rows). Padding is
   * never scored.
   */
  readonly places_N: Value;
  /**
   * int64: for each token of the flattened layout, its index in `places_N`, or N if `places_N` does not contain it.
   * Optional; without it, `places_N` may contain a token more than once, but the gradient takes longer.
   */
  readonly wantedOfPlace?: Value;
  /** int64 [N]: the tokens whose log-probabilities are computed, usually those that follow the tokens at `places_N`. */
  readonly targets_N: Value;
}

export interface TrainingForwardOptions {
  /** Trained parameters, which are graph inputs: LoRA matrices over frozen weights, all weights, or no parameters. */
  readonly learns:
    | {
        readonly kind: "lora";
        readonly targets: readonly ProjectionName[];
        readonly rank: Dimension;
        readonly scale: number;
      }
    | { readonly kind: "weights" }
    | { readonly kind: "nothing" };
  /** True to compute the entropy. */
  readonly hasEntropy: boolean;
  /**
   * Forms of the weights that are not trained: float32 or 8 bits; all float32 if absent. Trained weights are always
   * float32.
   */
  readonly forms?: WeightForms;
}

export interface TrainingForward {
  /** Natural-log probabilities of the targets, [N]. */
  readonly logprobs_N: Value;
  /**
   * Entropy in nats of each distribution that predicts a target, [N]; null if `hasEntropy` is false. No gradient flows
   * through it.
   */
  readonly entropy_N: Value | null;
  /**
   * Trained parameters by name, in the order of `loraParameters` or `modelParameters`. The gradient is taken for these.
   */
  readonly learned: ReadonlyMap<string, Value>;
}

/** Adds the decoder's training computation to a graph. */
export function addTrainingForward(
  builder: GraphBuilder,
  config: ModelConfig,
  inputs: TrainingInputs,
  { learns, hasEntropy, forms = new Map() }: TrainingForwardOptions,
): TrainingForward {
  const { layout, places_N, wantedOfPlace, targets_N } = inputs;
  const weights =
    learns.kind === "weights"
      ? declareWeights(builder, config, "inputs")
      : declareWeights(builder, config, "parameters", { forms, isTrained: true });
  const tables = addRotaryTables(builder, config);
  const lora = learns.kind === "lora" ? addLora(builder, config, learns) : null;
  const hidden_ND = addDecoderLayers(builder, config, {
    weight: (name) => present(weights.values.get(name), name),
    embed: (tokens, table) => embeddingRows(builder, weights, tokens, table),
    linear: storedLinear(builder, weights, lora),
    expertLinear: storedExpertLinear(builder, weights, "many"),
    rotaryTables: (index) => tables[index],
    ...arrangeTokens(builder, config, layout),
    recomputesLayers: true,
    selectRows: (x) => {
      const [rows, length, width] = x.shape;
      const flat = builder.reshape(x, [dimensionProduct([rows, length]), width]);
      return wantedOfPlace === undefined
        ? builder.gatherRows(flat, places_N)
        : builder.moveRows(flat, places_N, wantedOfPlace, { isPartial: true });
    },
  });
  const { logprobs, entropies } = outputLogprobs(builder, weights, outputProjection(config), {
    x: hidden_ND,
    targets: targets_N,
    cap: config.logitCap,
  });
  return {
    logprobs_N: logprobs,
    entropy_N: hasEntropy ? entropies : null,
    learned: learns.kind === "weights" ? weights.values : (lora?.matrices ?? new Map()),
  };
}

function addLora(
  builder: GraphBuilder,
  config: ModelConfig,
  options: { readonly targets: readonly ProjectionName[]; readonly rank: Dimension; readonly scale: number },
): DecoderLora {
  const matrices = loraParameters(config, options).map(
    ({ name, shape }) => [name, builder.input(name, "float32", shape)] as const,
  );
  return { matrices: new Map(matrices), scale: options.scale };
}
