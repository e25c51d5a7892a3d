// How the tokens of a training program lie, and how they attend: rows of whole sequences, padded on the right.
// What is computed token by token, the decoder with its norms and projections, does not know of rows.
import { causalMask, selfAttention } from "../graph/attention.ts";
import type { GraphBuilder } from "../graph/builder.ts";
import type { Value } from "../graph/graph.ts";
import type { ModelConfig } from "./config.ts";
import type { DecoderParts } from "./decoder.ts";

/** What the decoder needs to know of the tokens' layout. */
export type TokenArrangement = Pick<DecoderParts, "tokens_BT" | "positions_BT" | "attend">;

/**
 * Rows that begin at their first token and are padded on the right with any id.
 *
 * @param tokens_BT int64
 */
export function arrangeRows(builder: GraphBuilder, config: ModelConfig, tokens_BT: Value): TokenArrangement {
  const [rows, length] = tokens_BT.shape;
  const { headCount: queryHeads, kvHeadCount: kvHeads, headSize, attentionScale: scale } = config;
  return {
    tokens_BT,
    positions_BT: builder.expand(builder.reshape(builder.iota(length), [1, length]), [rows, length]),
    attend: ({ layerConfig, q, k, v }) => {
      // Padding is on the right, where no token looks.
      const mask = causalMask(builder, length, layerConfig.slidingWindow ?? undefined);
      return selfAttention(builder, { q, k, v }, { queryHeads, kvHeads, headSize, scale, mask });
    },
  };
}
