/** How large the blocks are in which some operations are computed, and what they hold while they run. */
import type { Dimension } from "../dimension.ts";
import type { Node } from "../graph.ts";

/**
 * Queries of a block of attention: many enough for fast products, few enough that scores stay in the cache, and that
 * little is computed of what the mask takes away.
 */
export const queriesPerBlock = 64;

/** Rows of a block of scores over the vocabulary. */
export const rowsPerBlock = 256;

const floatBytes = 4;

/**
 * The bytes of what an operation makes for itself while it runs: a few tensors as large as a block's scores. What it
 * collects from block to block is as large as its results, and counted with them.
 */
export function blockBytes(
  { kind, inputs, attributes }: Node,
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
      // Magnitudes, what is rounded of them, and the product before it has the size of its row.
      const rows = first.slice(0, -1).reduce((product, size) => product * size, 1);
      return floatBytes * rows * (2 * (first.at(-1) ?? 0) + second[1]);
    }
    case "linearLogprob": {
      const [vocabularySize = 0] = second ?? [];
      return floatBytes * Math.min(first?.[0] ?? 0, rowsPerBlock) * vocabularySize * 2;
    }
    case "int8LinearLogprob": {
      // Beside the scores, what their gradient rounds them from.
      return floatBytes * Math.min(first[0], rowsPerBlock) * second[1] * 4;
    }
    default:
      return 0;
  }
}
