// Builds the two tensor programs of training: one computes loss and gradients, the other only log-probabilities.
// Dimensions are symbols, so that one program serves all microbatches with the same kind of layout: L tokens; G
// prefixes of P tokens; R rows of T tokens; N trained tokens of S sequences and Q preferences.
import { present } from "../../../base/domain/assert.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct } from "../../../lib/graph/dimension.ts";
import { gradient } from "../../../lib/graph/gradient.ts";
import type { Graph, Value } from "../../../lib/graph/graph.ts";
import type { ModelConfig } from "../../../inference/architectures/config.ts";
import type { LoraAdapter } from "../../../inference/architectures/lora.ts";
import {
  type TrainingForward,
  addTrainingForward,
} from "../../../inference/architectures/training/forward.ts";
import type { WeightForms } from "../../../inference/architectures/quantized/weight-forms.ts";
import type { TokenLayout } from "../../../inference/architectures/training/layout.ts";
import type { Pack } from "../packing/packs.ts";
import type { Loss, TrainingSequence } from "../trainer.ts";
import { addLoss } from "./loss.ts";
import { recurrenceOf } from "../../../inference/architectures/recurrent/recurrence.ts";

/**
 * The properties of a LoRA adapter that determine the training program. The values of its matrices do not: they are
 * inputs of the program.
 */
export type AdapterShape = Pick<LoraAdapter, "rank" | "scale" | "targets">;

/** The properties that determine a training program, in addition to the model and the loss. */
export interface GraphOptions {
  readonly adapter: AdapterShape;
  readonly layout: Pack<TrainingSequence>["kind"];
}

export interface GradientGraphOptions extends GraphOptions {
  readonly loss: Loss;
  /**
   * True if each token's output predicts at most one trained token, so that a gather can compute the gradient. Default
   * false.
   */
  readonly hasDistinctPlaces?: boolean;
  /**
   * True to compute matrix products again for the gradient. The program then keeps only the input of each layer, but
   * takes about a third longer. Default false.
   */
  readonly recomputesProducts?: boolean;
}

/** Returns the name of the program output that contains the gradient of an adapter matrix. */
export function gradientName(matrix: string): string {
  return `gradient.${matrix}`;
}

/**
 * Builds the program that computes loss and gradients.
 *
 * Inputs: those of `tokenFeeds` and `lossFeeds`, those of `wantedFeeds` with `hasDistinctPlaces`, and the adapter's
 * matrices by name. Outputs: `loss` and `entropy` (scalars), `logprobs` [N], `per_token_loss` [N] for per-token losses,
 * and the gradient of each matrix.
 *
 * @param forms storage forms of the base model's weights; all float32 if absent
 */
export function buildGradientGraph(
  config: ModelConfig,
  { adapter, layout, hasDistinctPlaces = false, recomputesProducts = false, loss }: GradientGraphOptions,
  forms?: WeightForms,
): Graph {
  const builder = new GraphBuilder({ keepsNothing: recomputesProducts });
  const options = { adapter, layout, hasDistinctPlaces, hasEntropy: true, forms };
  const { logprobs_N, entropy_N, learned } = addForward(builder, config, options);
  const nodes = addLoss(builder, logprobs_N, loss);
  const names = [...learned.keys()];
  const gradients = gradient(builder, nodes.loss, [...learned.values()]);
  const weightedEntropy_N = builder.multiply(present(entropy_N, "the entropy"), nodes.weights_N);
  return builder.build({
    loss: nodes.loss,
    entropy: builder.reduceSum(weightedEntropy_N),
    logprobs: logprobs_N,
    ...(nodes.perToken_N === null ? {} : { per_token_loss: nodes.perToken_N }),
    ...Object.fromEntries(names.map((name, index) => [gradientName(name), gradients[index]])),
  });
}

/** Builds the program that computes only log-probabilities; its one output is `logprobs` [N]. */
export function buildLogprobGraph(
  config: ModelConfig,
  { adapter, layout }: GraphOptions,
  forms?: WeightForms,
): Graph {
  const builder = new GraphBuilder();
  const options = { adapter, layout, hasDistinctPlaces: false, hasEntropy: false, forms };
  const { logprobs_N } = addForward(builder, config, options);
  return builder.build({ logprobs: logprobs_N });
}

function addForward(
  builder: GraphBuilder,
  config: ModelConfig,
  {
    adapter,
    layout,
    hasDistinctPlaces,
    hasEntropy,
    forms,
  }: GraphOptions & {
    readonly hasDistinctPlaces: boolean;
    readonly hasEntropy: boolean;
    readonly forms: WeightForms | undefined;
  },
): TrainingForward {
  const tokens: TokenLayout = {
    ...layoutInputs[layout](builder),
    ...(recurrenceOf(config) !== null && { chunks_U: builder.input("chunks", "int64", ["U"]) }),
  };
  const inputs = {
    layout: tokens,
    places_N: builder.input("places", "int64", ["N"]),
    ...(hasDistinctPlaces ? { wantedOfPlace: wantedInput(builder, tokens) } : {}),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const { targets, rank, scale } = adapter;
  return addTrainingForward(builder, config, inputs, {
    learns: { kind: "lora", targets, rank, scale },
    hasEntropy,
    ...(forms && { forms }),
  });
}

function wantedInput(builder: GraphBuilder, layout: TokenLayout): Value {
  const { shape } = layout.kind === "rows" ? layout.tokens_BT : layout.tokens_L;
  return builder.input("wanted_of_place", "int64", [dimensionProduct(shape)]);
}

const layoutInputs: { readonly [Kind in GraphOptions["layout"]]: (builder: GraphBuilder) => TokenLayout } = {
  rows: (builder) => ({ kind: "rows", tokens_BT: builder.input("tokens", "int64", ["R", "T"]) }),
  list: listInputs,
  prefixed: prefixedInputs,
};

function listInputs(builder: GraphBuilder): TokenLayout & { kind: "list" } {
  return {
    kind: "list",
    tokens_L: builder.input("tokens", "int64", ["L"]),
    positions_L: builder.input("positions", "int64", ["L"]),
    rows_RT: builder.input("rows", "int64", ["R", "T"]),
    places_L: builder.input("row_places", "int64", ["L"]),
  };
}

function prefixedInputs(builder: GraphBuilder): TokenLayout {
  return {
    ...listInputs(builder),
    kind: "prefixed",
    prefixes_GP: builder.input("prefixes", "int64", ["G", "P"]),
    prefixOfRow_RG: builder.input("prefix_of_row", "float32", ["R", "G"]),
    prefixLengths_R: builder.input("prefix_lengths", "int64", ["R"]),
  };
}
