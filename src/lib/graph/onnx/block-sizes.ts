/** For operations that are computed in blocks: the sizes of the blocks, and the temporary memory. */
import type { Dimension } from "../dimension.ts";
import type { Node } from "../graph.ts";

/**
 * Number of queries per block of attention: enough for fast products, but so few that the block's scores stay in the
 * processor's cache and few masked scores are computed.
 */
export const queriesPerBlock = 64;

/**
 * Number of tokens of the vocabulary in a block of logits. The block's weights and the logits of some hundred rows stay
 * in the processor's caches.
 */
export const tokensPerBlock = 4096;

const floatBytes = 4;

/**
 * Returns an operation's temporary memory in bytes: a few tensors, each as large as a block's scores. Results
 * accumulated over blocks are not included, because they count as results.
 */
export function blockBytes(
  { kind, inputs, outputs, attributes }: Node,
  sizeOf: (dimension: Dimension) => number,
): number {
  const [first, second] = inputs.map(({ shape }) => shape.map(sizeOf));
  switch (kind) {
    case "blockedAttention":
    case "blockedAttentionGradient": {
      const [rows = 0, length = 0] = first ?? [];
      const scores = rows * attributes.queryHeads * Math.min(length, queriesPerBlock) * length;
      return floatBytes * scores * (kind === "blockedAttention" ? 2 : 4);
    }
    case "int8MatMul": {
      // Counts three tensors: the magnitudes of x, its rounded rows, and the unscaled product.
      const rows = first.slice(0, -1).reduce((product, size) => product * size, 1);
      return floatBytes * rows * (2 * (first.at(-1) ?? 0) + second[1]);
    }
    case "int8BackMatMul": {
      // Counts the scaled rows, their magnitudes, the product before it is transposed, and two copies of the weight.
      const [rows = 0, inner = 0] = first;
      return floatBytes * rows * (2 * inner + second[0]) + 2 * second[0] * inner;
    }
    case "gatherColumns": {
      // Counts the columns before they are transposed.
      return outputs[0].shape.map(sizeOf).reduce((product, size) => product * size, 1);
    }
    case "expertMatMul": {
      // Counts the rows of all tiles with their padding, and two copies of one expert's weight: as stored, and as
      // numbers.
      const [expertCount, ...weight] = inputs[2].shape.map(sizeOf);
      const [pairCount, width] = outputs[0].shape.map(sizeOf);
      const padding = Math.min(pairCount, expertCount) * (attributes.tileRows - 1);
      const copies = 2 * weight.reduce((product, size) => product * size, 1);
      return floatBytes * ((pairCount + padding) * width + copies);
    }
    case "linearLogprob": {
      // Counts two tensors of logits, and the weights of a block.
      const [vocabularySize, width] = second;
      return floatBytes * Math.min(vocabularySize, tokensPerBlock) * (2 * first[0] + width);
    }
    case "int8LinearLogprob": {
      // Counts the logits, the intermediates of rounding the probabilities for the gradient, three copies of the block's
      // weights, and the block's part of the gradient before and after it is transposed.
      const [width, vocabularySize] = second;
      const blockTokens = Math.min(vocabularySize, tokensPerBlock);
      return (
        floatBytes * first[0] * (blockTokens * 4 + (outputs[2] === undefined ? 0 : 3 * width)) +
        3 * width * blockTokens
      );
    }
    default:
      return 0;
  }
}
