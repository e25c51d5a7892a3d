// Layout of the tokens in a training computation, and the operations that relate tokens to each other: attention and
// convolutions. Norms and projections process a list of tokens; only attention and convolutions use padded rows, so
// only they pay for padding. No token depends on another sequence.
import { causalMask, continuationMask, selfAttention } from "../../../lib/graph/attention.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { recomputed } from "../../../lib/graph/recompute.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import type { AttentionInputs, DecoderParts } from "../decoder.ts";
import { shiftedRows } from "../serving/sequence-memory.ts";
import { type Chunks, recallList, recallPrefixed, recallRows } from "./recalled-rows.ts";
import {
  flatIds,
  flatRows,
  type Prefixes,
  prefixOfEachRow,
  splitPrefixed,
  type TokenList,
  toList,
} from "./token-rows.ts";

/**
 * Layout of the tokens in a training computation:
 * - `rows`: whole sequences, padded on the right with any id.
 * - `list`: whole sequences, one after another without padding.
 * - `prefixed`: prefixes without padding, then rows that each continue one of the prefixes.
 */
export type TokenLayout = Chunks &
  (
    | { readonly kind: "rows"; readonly tokens_BT: Value }
    | ({ readonly kind: "list" } & TokenList)
    | ({ readonly kind: "prefixed" } & TokenList & Prefixes)
  );

/** Inputs and functions of the decoder that depend on the layout of the tokens. */
export type TokenArrangement = Pick<
  DecoderParts,
  "tokens_BT" | "positions_BT" | "attend" | "taps" | "recall"
>;

/** Converts a layout of tokens to the decoder's inputs and functions. */
export function arrangeTokens(
  builder: GraphBuilder,
  config: ModelConfig,
  layout: TokenLayout,
): TokenArrangement {
  const attention = new RowAttention(builder, config);
  const tapCount = (config.convolution?.kernelSize ?? 1) - 1;
  if (layout.kind === "rows") {
    const { tokens_BT } = layout;
    const [rows, length] = tokens_BT.shape;
    return {
      tokens_BT,
      positions_BT: builder.expand(builder.reshape(builder.iota(length), [1, length]), [rows, length]),
      attend: (inputs) => attention.causal(inputs),
      taps: ({ x }) => rowTaps(builder, x, tapCount),
      recall: (inputs) => recallRows(builder, config, layout, inputs),
    };
  }
  // Each token becomes a separate row, because a row of all tokens could be longer than the context.
  const alone = (list: Value): Value => builder.reshape(list, [...list.shape, 1]);
  return {
    tokens_BT: alone(layout.tokens_L),
    positions_BT: alone(layout.positions_L),
    attend: (inputs) =>
      layout.kind === "list"
        ? attendList(attention, layout, inputs)
        : attendPrefixed(attention, layout, inputs),
    recall: (inputs) =>
      layout.kind === "list"
        ? recallList(builder, config, layout, inputs)
        : recallPrefixed(builder, config, layout, inputs),
    taps: ({ x }) =>
      layout.kind === "list"
        ? listTaps(builder, layout, x, tapCount)
        : prefixedTaps(builder, layout, x, tapCount),
  };
}

/** Computes causal attention within each row of the list. */
function attendList(
  attention: RowAttention,
  { rows_RT, places_L }: TokenList,
  inputs: AttentionInputs,
): Value {
  const { builder } = attention;
  const toRows = (x: Value): Value => builder.moveRows(flatRows(builder, x), rows_RT, places_L);
  const { q, k, v } = inputs;
  const attended_RTW = attention.causal({ ...inputs, q: toRows(q), k: toRows(k), v: toRows(v) });
  return toList(builder, flatRows(builder, attended_RTW), { ids_M: flatIds(builder, rows_RT), places_L });
}

/**
 * Returns the `count` + 1 taps of rows [B, T, D]. At each position, tap i has the input from `count` - i positions
 * earlier. Inputs before the start of a row are zeros.
 */
function rowTaps(builder: GraphBuilder, x: Value, count: number): readonly Value[] {
  const [rows, , width] = x.shape;
  return shiftedRows(builder, builder.concat([builder.full([rows, count, width], 0), x], 1), x, count);
}

/** Like {@link rowTaps}, but for the rows that a list of tokens holds. */
function listTaps(
  builder: GraphBuilder,
  { rows_RT, places_L }: TokenList,
  x: Value,
  count: number,
): readonly Value[] {
  const rows = builder.moveRows(flatRows(builder, x), rows_RT, places_L);
  const ids_M = flatIds(builder, rows_RT);
  return rowTaps(builder, rows, count).map((tap) =>
    toList(builder, flatRows(builder, tap), { ids_M, places_L }),
  );
}

/** Like {@link rowTaps}, but for prefixes, and for rows that each continue a prefix. */
function prefixedTaps(
  builder: GraphBuilder,
  layout: TokenList & Prefixes,
  x: Value,
  count: number,
): readonly Value[] {
  const { prefix, row, ids_M } = splitPrefixed(builder, layout, x);
  const before = prefixEnds(builder, prefix, layout, count);
  const ofRows = shiftedRows(builder, builder.concat([before, row], 1), row, count);
  return rowTaps(builder, prefix, count).map((ofPrefixes, place) => {
    const moved = builder.concat([flatRows(builder, ofPrefixes), flatRows(builder, ofRows[place])], 0);
    return toList(builder, moved, { ids_M, places_L: layout.places_L });
  });
}

/**
 * Returns the last `count` positions of each row's prefix, [R, count, W]; a shorter prefix is preceded by zeros.
 * Computed as a product with zeros and ones, because the gradient of a product is faster than a scatter.
 */
function prefixEnds(builder: GraphBuilder, prefix_GPW: Value, layout: Prefixes, count: number): Value {
  const { prefixLengths_R, prefixes_GP } = layout;
  const [rows, capacity] = [dimensionAt(prefixLengths_R.shape, 0), dimensionAt(prefixes_GP.shape, 1)];
  const lengths = builder.reshape(prefixLengths_R, [rows, 1, 1]);
  const distances = builder.constant(
    "int64",
    [1, count, 1],
    [...Array(count).keys()].map((place) => count - place),
  );
  const places = builder.reshape(builder.iota(capacity), [1, 1, capacity]);
  const isWanted = builder.equal(builder.subtract(lengths, distances), places);
  return builder.matMul(builder.cast(isWanted, "float32"), prefixOfEachRow(builder, prefix_GPW, layout));
}

/** Computes causal attention: prefixes attend to themselves, rows to their prefix and themselves. */
function attendPrefixed(
  attention: RowAttention,
  layout: TokenList & Prefixes,
  inputs: AttentionInputs,
): Value {
  const { builder } = attention;
  const [q, k, v] = [inputs.q, inputs.k, inputs.v].map((x) => splitPrefixed(builder, layout, x));
  const ofPrefixes = attention.causal({ ...inputs, q: q.prefix, k: k.prefix, v: v.prefix });
  const withPrefix = (x: { readonly prefix: Value; readonly row: Value }): Value =>
    builder.concat([prefixOfEachRow(builder, x.prefix, layout), x.row], 1);
  const ofRows = attention.continued({ ...inputs, q: q.row, k: withPrefix(k), v: withPrefix(v) }, layout);
  const attended_MW = builder.concat([flatRows(builder, ofPrefixes), flatRows(builder, ofRows)], 0);
  return toList(builder, attended_MW, { ids_M: q.ids_M, places_L: layout.places_L });
}

/** Builds attention within padded rows. */
class RowAttention {
  readonly builder: GraphBuilder;
  readonly #config: ModelConfig;

  constructor(builder: GraphBuilder, config: ModelConfig) {
    this.builder = builder;
    this.#config = config;
  }

  /** Computes causal attention within rows [B, T, W]. Padding is on the right, so no token attends to it. */
  causal(inputs: AttentionInputs): Value {
    const { layerConfig, heads, sinks, q, k, v } = inputs;
    const { headCount: queryHeads, attentionScale: scale } = this.#config;
    if (sinks !== undefined) {
      const mask = causalMask(this.builder, dimensionAt(q.shape, 1), layerConfig.slidingWindow ?? undefined);
      return this.#masked(inputs, mask);
    }
    const options = { queryHeads, kvHeads: heads.kvHeadCount, scale, window: layerConfig.slidingWindow ?? 0 };
    return this.builder.kept(this.builder.blockedAttention(q, k, v, options));
  }

  /**
   * Computes attention for rows that continue a prefix. The queries q [R, T, W] are those of the rows; k and v [R, P+T,
   * W] begin with each row's prefix.
   */
  continued(inputs: AttentionInputs, { prefixLengths_R, prefixes_GP }: Prefixes): Value {
    const { layerConfig, q } = inputs;
    const mask = continuationMask(this.builder, {
      prefixLengths: prefixLengths_R,
      prefixCapacity: dimensionAt(prefixes_GP.shape, 1),
      length: dimensionAt(q.shape, 1),
      window: layerConfig.slidingWindow ?? undefined,
    });
    return this.#masked(inputs, mask);
  }

  /** Computes attention from queries to the keys that a mask leaves visible; all scores are in memory together. */
  #masked({ heads, sinks, q, k, v }: AttentionInputs, mask: Value): Value {
    const { headCount: queryHeads, attentionScale: scale } = this.#config;
    const { kvHeadCount: kvHeads, headSize } = heads;
    const options = { queryHeads, kvHeads, headSize, scale, mask, sinks };
    const attended = recomputed(this.builder, [q, k, v], (queries, keys, values) =>
      selfAttention(this.builder, { q: queries, k: keys, v: values }, options),
    );
    return this.builder.kept(attended);
  }
}
