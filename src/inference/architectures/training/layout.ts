// Layout of the tokens in a training computation, and the operations that relate tokens to each other: attention and
// convolutions. Norms and projections process a list of tokens; only attention and convolutions use padded rows, so
// only they pay for padding. No token depends on another sequence.
import { assert, present } from "../../../base/domain/assert.ts";
import { causalMask, continuationMask, selfAttention } from "../../../lib/graph/attention.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct, dimensionSum } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { recomputed } from "../../../lib/graph/recompute.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import type { AttentionInputs, DecoderParts } from "../decoder.ts";
import { recallChunks, type RecurrenceInputs } from "../recurrent/recurrence.ts";
import { shiftedRows } from "../serving/sequence-memory.ts";

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

/** Division of rows into chunks. Recurrences (delta rules, Mamba-2) compute one chunk after another. */
interface Chunks {
  /**
   * int64 [U] with any content. Its length says that a row has U chunks of `chunkSize` positions. Only models with
   * recurrences need it, and these are not trained with prefixes.
   */
  readonly chunks_U?: Value;
}

/** A list of L tokens without padding, and R rows of at most T tokens, which refer to the list. */
interface TokenList {
  /** Token ids, int64 [L]. */
  readonly tokens_L: Value;
  /** int64 [L]: each token's position in its sequence, from 0. */
  readonly positions_L: Value;
  /** int64 [R, T]: for each token of each row, its index in the list; any index for padding, which is on the right. */
  readonly rows_RT: Value;
  /**
   * int64 [L]: for each token of the list, its index in the flattened rows. In a layout with prefixes, the flattened
   * prefixes precede the rows, and the index counts them too.
   */
  readonly places_L: Value;
}

/** G prefixes of at most P tokens, which rows continue. */
interface Prefixes {
  /** int64 [G, P]: for each token of each prefix, its index in the list; padding as in `rows_RT`. */
  readonly prefixes_GP: Value;
  /** float32 [R, G]: 1 if row r continues prefix g, else 0. */
  readonly prefixOfRow_RG: Value;
  /** int64 [R]: the length of the prefix that each row continues. */
  readonly prefixLengths_R: Value;
}

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
    recall: (inputs) => recallList(builder, config, layout, inputs),
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

/**
 * Returns the values that a recurrence reads within rows [B, T, W]. Padding is on the right, so it cannot affect
 * earlier tokens.
 */
function recallRows(
  builder: GraphBuilder,
  config: ModelConfig,
  { chunks_U }: Chunks,
  { q, k, v, logDecay, strength }: RecurrenceInputs,
): Value {
  const chunks = dimensionAt(present(chunks_U, "the chunks of a recurrence").shape, 0);
  const recalled = recomputed(builder, [q, k, v, logDecay, strength], (...own) => {
    const [queries, keys, values, decays, strengths] = own;
    const inputs = { q: queries, k: keys, v: values, logDecay: decays, strength: strengths };
    return recallChunks(builder, config, inputs, chunks);
  });
  return builder.kept(recalled);
}

/** Like {@link recallRows}, but for the rows that a list of tokens holds. */
function recallList(
  builder: GraphBuilder,
  config: ModelConfig,
  layout: TokenLayout,
  inputs: RecurrenceInputs,
): Value {
  assert(layout.kind === "list", "a recurrence is trained without prefixes");
  const { rows_RT, places_L } = layout;
  const toRows = (x: Value): Value => builder.moveRows(flatRows(builder, x), rows_RT, places_L);
  const recalled = recallRows(builder, config, layout, {
    ...inputs,
    q: toRows(inputs.q),
    k: toRows(inputs.k),
    v: toRows(inputs.v),
    logDecay: toRows(inputs.logDecay),
    strength: toRows(inputs.strength),
  });
  return toList(builder, flatRows(builder, recalled), { ids_M: flatIds(builder, rows_RT), places_L });
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

/**
 * Splits a list into prefixes [G, P, W] and rows [R, T, W]. Also returns `ids_M`: the list index of each prefix entry,
 * then of each row entry.
 */
function splitPrefixed(
  builder: GraphBuilder,
  { rows_RT, prefixes_GP, places_L }: TokenList & Prefixes,
  x: Value,
): { readonly prefix: Value; readonly row: Value; readonly ids_M: Value } {
  const ids_M = builder.concat([flatIds(builder, prefixes_GP), flatIds(builder, rows_RT)], 0);
  const prefixCount = dimensionProduct(prefixes_GP.shape);
  const moved_MW = builder.moveRows(flatRows(builder, x), ids_M, places_L);
  const width = dimensionAt(x.shape, 2);
  const prefix = builder.slice(moved_MW, 0, 0, prefixCount);
  const row = builder.slice(moved_MW, 0, prefixCount);
  return {
    prefix: builder.reshape(prefix, [...prefixes_GP.shape, width]),
    row: builder.reshape(row, [...rows_RT.shape, width]),
    ids_M,
  };
}

/**
 * Returns the prefix of each row: expands [G, P, W] to [R, P, W]. Computed as a product, because the gradient of a
 * product sums over the rows of a prefix many times faster than a scatter.
 */
function prefixOfEachRow(builder: GraphBuilder, x_GPW: Value, { prefixOfRow_RG }: Prefixes): Value {
  const [count, capacity, width] = x_GPW.shape;
  const flat = builder.reshape(x_GPW, [count, dimensionProduct([capacity, width])]);
  const rows = dimensionAt(prefixOfRow_RG.shape, 0);
  return builder.reshape(builder.matMul(prefixOfRow_RG, flat), [rows, capacity, width]);
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

/**
 * Converts padded rows [M, W] back to the list of tokens [L, 1, W].
 *
 * @param ids_M for each padded row, its index in the list
 */
function toList(
  builder: GraphBuilder,
  x_MW: Value,
  { ids_M, places_L }: { readonly ids_M: Value; readonly places_L: Value },
): Value {
  const [length] = places_L.shape;
  // 1 at the entry that belongs to a list token, as `places_L` says; 0 at padding, whose results are unused.
  const isToken_M = builder.equal(
    builder.gatherRows(places_L, ids_M),
    builder.iota(dimensionAt(ids_M.shape, 0)),
  );
  const nowhere_1 = builder.slice(builder.iota(dimensionSum([length, 1])), 0, length);
  const tokens_M = builder.where(isToken_M, ids_M, nowhere_1);
  const list_LW = builder.moveRows(x_MW, places_L, tokens_M, { isPartial: true });
  return builder.reshape(list_LW, [length, 1, dimensionAt(x_MW.shape, 1)]);
}

/** Flattens [B, T, W] to [B*T, W]. */
function flatRows(builder: GraphBuilder, x: Value): Value {
  const [rows, length, width] = x.shape;
  return builder.reshape(x, [dimensionProduct([rows, length]), width]);
}

function flatIds(builder: GraphBuilder, ids: Value): Value {
  return builder.reshape(ids, [dimensionProduct(ids.shape)]);
}
