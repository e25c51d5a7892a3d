// The additional embedding of Gemma 4, which has a part for each layer. Each part is the sum of a row looked up for the
// token and of a projection of the token's main embedding.
import type { GraphBuilder } from "../../lib/graph/builder.ts";
import type { Dimension } from "../../lib/graph/dimension.ts";
import type { Value } from "../../lib/graph/graph.ts";
import type { ModelConfig } from "./config.ts";
import type { Linear } from "./linear.ts";
import { layerEmbeddingName, layerEmbeddingNorm, layerEmbeddingProjection } from "./parameters.ts";

/** Returns each layer's part [B, T, P] of the additional embedding. */
export type LayerEmbeddings = (layer: number) => Value;

/** Functions that apply the model's weights; see `DecoderParts`. */
interface EmbeddingParts {
  readonly weight: (name: string) => Value;
  readonly embed: (tokens_BT: Value, table?: string) => Value;
  readonly linear: Linear;
  readonly tokens_BT: Value;
}

/**
 * Adds the additional embedding of all layers to a graph.
 *
 * @param embedded main embeddings [B, T, D], scaled
 * @returns null if the model has no additional embedding
 */
export function layerEmbeddings(
  builder: GraphBuilder,
  config: ModelConfig,
  { embed, linear, weight, tokens_BT }: EmbeddingParts,
  embedded: Value,
): LayerEmbeddings | null {
  const { layerEmbedding, layers, width, normEpsilon } = config;
  if (layerEmbedding === null) return null;
  const { size } = layerEmbedding;
  const [rows, length] = embedded.shape as [Dimension, Dimension];
  const byLayer = (x: Value): Value => builder.reshape(x, [rows, length, layers.length, size]);
  const lookedUp = builder.multiply(byLayer(embed(tokens_BT, layerEmbeddingName)), Math.sqrt(size));
  const projected = linear(layerEmbeddingProjection(config), embedded);
  const scaled = byLayer(builder.multiply(projected, 1 / Math.sqrt(width)));
  const normed = builder.rmsNorm(scaled, weight(layerEmbeddingNorm), normEpsilon);
  const sum = builder.multiply(builder.add(normed, lookedUp), Math.SQRT1_2);
  return (layer) => builder.reshape(builder.slice(sum, 2, layer, layer + 1), [rows, length, size]);
}
