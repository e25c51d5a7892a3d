// Recurrences (delta rules, Mamba-2) over the tokens of a training computation.
import { present } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { recomputed } from "../../../lib/graph/recompute.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import { recallChunks, type RecurrenceInputs } from "../recurrent/recurrence.ts";
import {
  flatIds,
  flatRows,
  type Prefixes,
  prefixOfEachRow,
  splitPrefixed,
  type TokenList,
  toList,
} from "./token-rows.ts";

/** Division of rows into chunks. Recurrences (delta rules, Mamba-2) compute one chunk after another. */
export interface Chunks {
  /**
   * int64 [U] with any content. Its length says that a row, with its prefix, has at most U chunks of `chunkSize`
   * positions. Only models with recurrences need it.
   */
  readonly chunks_U?: Value;
}

/**
 * Returns the values that a recurrence reads within rows [B, T, W]. Padding is on the right, so it cannot affect
 * earlier tokens.
 */
export function recallRows(
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
export function recallList(
  builder: GraphBuilder,
  config: ModelConfig,
  layout: TokenList & Chunks,
  inputs: RecurrenceInputs,
): Value {
  const { rows_RT, places_L } = layout;
  const rows = ofEach(inputs, (x) => builder.moveRows(flatRows(builder, x), rows_RT, places_L));
  const recalled = recallRows(builder, config, layout, rows);
  return toList(builder, flatRows(builder, recalled), { ids_M: flatIds(builder, rows_RT), places_L });
}

/**
 * Like {@link recallRows}, but for prefixes, and for rows that each continue a prefix. Each row computes the recurrence
 * over its prefix again. This costs little, since the prefix's projections are shared.
 */
export function recallPrefixed(
  builder: GraphBuilder,
  config: ModelConfig,
  layout: TokenList & Prefixes & Chunks,
  inputs: RecurrenceInputs,
): Value {
  const { prefixes_GP, prefixLengths_R, places_L } = layout;
  const [rows, capacity] = [dimensionAt(prefixLengths_R.shape, 0), dimensionAt(prefixes_GP.shape, 1)];
  const parts = ofEach(inputs, (x) => splitPrefixed(builder, layout, x));
  // 1 at the prefix's tokens that a row continues, 0 at the others, which must leave the state unchanged.
  const isBefore = builder.cast(
    builder.less(
      builder.reshape(builder.iota(capacity), [1, capacity, 1]),
      builder.reshape(prefixLengths_R, [rows, 1, 1]),
    ),
    "float32",
  );
  const joined = ofEach(parts, ({ prefix, row }, name) => {
    const before = prefixOfEachRow(builder, prefix, layout);
    const isChange = name === "logDecay" || name === "strength";
    return builder.concat([isChange ? builder.multiply(before, isBefore) : before, row], 1);
  });
  const ofPrefixes = recallRows(
    builder,
    config,
    layout,
    ofEach(parts, ({ prefix }) => prefix),
  );
  const length = dimensionAt(joined.q.shape, 1);
  const ofRows = builder.slice(recallRows(builder, config, layout, joined), 1, capacity, length);
  const moved = builder.concat([flatRows(builder, ofPrefixes), flatRows(builder, ofRows)], 0);
  return toList(builder, moved, { ids_M: parts.q.ids_M, places_L });
}

/** Applies a function to each input of a recurrence. */
function ofEach<From, To>(
  inputs: Readonly<Record<keyof RecurrenceInputs, From>>,
  map: (input: From, name: keyof RecurrenceInputs) => To,
): Readonly<Record<keyof RecurrenceInputs, To>> {
  return {
    q: map(inputs.q, "q"),
    k: map(inputs.k, "k"),
    v: map(inputs.v, "v"),
    logDecay: map(inputs.logDecay, "logDecay"),
    strength: map(inputs.strength, "strength"),
  };
}
