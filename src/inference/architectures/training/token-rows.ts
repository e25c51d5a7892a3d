// Moves tokens between the list of all tokens, which has no padding, and the padded rows of sequences and their prefixes.
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct, dimensionSum } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";

/** A list of L tokens without padding, and R rows of at most T tokens, which refer to the list. */
export interface TokenList {
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
export interface Prefixes {
  /** int64 [G, P]: for each token of each prefix, its index in the list; padding as in `rows_RT`. */
  readonly prefixes_GP: Value;
  /** float32 [R, G]: 1 if row r continues prefix g, else 0. */
  readonly prefixOfRow_RG: Value;
  /** int64 [R]: the length of the prefix that each row continues. */
  readonly prefixLengths_R: Value;
}

/**
 * Splits a list into prefixes [G, P, W] and rows [R, T, W]. Also returns `ids_M`: the list index of each prefix entry,
 * then of each row entry.
 */
export function splitPrefixed(
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
export function prefixOfEachRow(builder: GraphBuilder, x_GPW: Value, { prefixOfRow_RG }: Prefixes): Value {
  const [count, capacity, width] = x_GPW.shape;
  const flat = builder.reshape(x_GPW, [count, dimensionProduct([capacity, width])]);
  const rows = dimensionAt(prefixOfRow_RG.shape, 0);
  return builder.reshape(builder.matMul(prefixOfRow_RG, flat), [rows, capacity, width]);
}

/**
 * Converts padded rows [M, W] back to the list of tokens [L, 1, W].
 *
 * @param ids_M for each padded row, its index in the list
 */
export function toList(
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
export function flatRows(builder: GraphBuilder, x: Value): Value {
  const [rows, length, width] = x.shape;
  return builder.reshape(x, [dimensionProduct([rows, length]), width]);
}

export function flatIds(builder: GraphBuilder, ids: Value): Value {
  return builder.reshape(ids, [dimensionProduct(ids.shape)]);
}
