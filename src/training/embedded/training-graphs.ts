// The tensor programs of training: one that gives loss and gradients, one that gives log-probabilities alone.
// Shapes are symbols (B rows, T tokens, N trained tokens, S sequences), so one program serves every microbatch.
import { present } from "../../domain/assert.ts";
import { GraphBuilder } from "../../graph/builder.ts";
import { gradient } from "../../graph/gradient.ts";
import type { Graph } from "../../graph/graph.ts";
import type { ModelConfig } from "../../model/config.ts";
import type { LoraAdapter } from "../../model/lora.ts";
import { type TrainingForward, addTrainingForward } from "../../model/training-forward.ts";
import type { Loss } from "../trainer.ts";
import { addLoss } from "./loss.ts";

/** What of an adapter decides the program; its numbers are inputs. */
export type AdapterShape = Pick<LoraAdapter, "rank" | "scale" | "targets">;

/** The output that holds the gradient of an adapter matrix. */
export function gradientName(matrix: string): string {
  return `gradient.${matrix}`;
}

/**
 * Builds the program of a gradient.
 *
 * Inputs: those of `tokenFeeds` and `lossFeeds`, and the adapter's matrices by name.
 * Outputs: `loss` and `entropy` (scalars), `logprobs` [N], `per_token_loss` [N], and a gradient per matrix.
 */
export function buildGradientGraph(config: ModelConfig, adapter: AdapterShape, loss: Loss): Graph {
  const builder = new GraphBuilder();
  const { logprobs_N, entropy_N, learned } = addForward(builder, config, { adapter, hasEntropy: true });
  const nodes = addLoss(builder, logprobs_N, loss);
  const names = [...learned.keys()];
  const gradients = gradient(builder, nodes.loss, [...learned.values()]);
  const weightedEntropy_N = builder.multiply(present(entropy_N, "the entropy"), nodes.weights_N);
  return builder.build({
    loss: nodes.loss,
    entropy: builder.reduceSum(weightedEntropy_N),
    logprobs: logprobs_N,
    per_token_loss: nodes.perToken_N,
    ...Object.fromEntries(names.map((name, index) => [gradientName(name), gradients[index]])),
  });
}

/** Builds the program without loss and gradients; its one output is `logprobs` [N]. */
export function buildLogprobGraph(config: ModelConfig, adapter: AdapterShape): Graph {
  const builder = new GraphBuilder();
  const { logprobs_N } = addForward(builder, config, { adapter, hasEntropy: false });
  return builder.build({ logprobs: logprobs_N });
}

function addForward(
  builder: GraphBuilder,
  config: ModelConfig,
  { adapter, hasEntropy }: { readonly adapter: AdapterShape; readonly hasEntropy: boolean },
): TrainingForward {
  const inputs = {
    layout: { kind: "rows", tokens_BT: builder.input("tokens", "int64", ["B", "T"]) } as const,
    places_N: builder.input("places", "int64", ["N"]),
    targets_N: builder.input("targets", "int64", ["N"]),
  };
  const { targets, rank, scale } = adapter;
  return addTrainingForward(builder, config, inputs, {
    learns: { kind: "lora", targets, rank, scale },
    hasEntropy,
  });
}
