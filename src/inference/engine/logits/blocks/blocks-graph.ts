// The graph that reduces rows of scores to blocks. What it gives of a row does not depend on the other rows.
import { GraphBuilder } from "../../../../lib/graph/builder.ts";
import type { Graph } from "../../../../lib/graph/graph.ts";
import { blockSize } from "./score-blocks.ts";

/**
 * Inputs: `logits` [N, V]; `inverse_temperatures` [N, 1]. Outputs, in blocks of a row: `maxima` [N, blocks], the greatest
 * scores; `masses` [N, blocks], the sums of the probabilities at the temperatures.
 *
 * A score is multiplied in float32 before the greatest is taken off, which saves a pass: the relative error of a
 * probability is |score| / temperature · 6e-8.
 */
export function buildBlocksGraph(vocabularySize: number): Graph {
  const builder = new GraphBuilder();
  const logits_NV = builder.input("logits", "float32", ["N", vocabularySize]);
  const inverses_N1 = builder.input("inverse_temperatures", "float32", ["N", 1]);
  const count = Math.ceil(vocabularySize / blockSize);
  const missing = count * blockSize - vocabularySize;
  const filled =
    missing === 0 ? logits_NV : builder.concat([logits_NV, builder.full(["N", missing], -Infinity)], 1);
  const maxima = builder.reduceMax(builder.reshape(filled, ["N", count, blockSize]), [-1]);
  const probabilities = builder.softmax(builder.multiply(filled, inverses_N1));
  const masses = builder.reduceSum(builder.reshape(probabilities, ["N", count, blockSize]), [-1]);
  return builder.build({ maxima, masses });
}
