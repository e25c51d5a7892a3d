// The graph of one new token a row for rows of two caches: caches of different capacities, of rows with different adapters,
// or both. Products with weights are computed over all rows together, so that weights are read once; attention and low-rank
// products by group, with the operations that the decode graph has for it alone: a row gets the same numbers, to the last bit.
import { cacheAttention, cacheMask } from "../../../lib/graph/attention.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionSum } from "../../../lib/graph/dimension.ts";
import type { Graph, Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import { addDecoder } from "../decoder.ts";
import { addLowRank, asRows, type Linear } from "../linear.ts";
import { servingLoraParameters } from "../lora.ts";
import { cacheNames, weightParts, type ServingOptions } from "../serving-graphs.ts";

/** The rows of a call that share a cache, and an adapter. */
export const pairedGroups = [0, 1] as const;

export type PairedGroup = (typeof pairedGroups)[number];

/** What a group's input is called, of which the decode graph has one. */
export function groupName(name: string, group: PairedGroup): string {
  return `${name}.${group}`;
}

/**
 * Inputs, for group g of Bg rows: `tokens.g` int64 [Bg, 1]; `past_lengths.g` int64 [Bg]; `rows.g` int64 [Bg], which rows of
 * the call it has: the first B0, and the others; per layer `keys.i.g` and `values.i.g` [Bg, Hkv, 1, Cg, K]; where the graph
 * takes adapters, the LoRA matrices of each group, `<name>.g`. Outputs as of the decode graph, over all rows: `logits`
 * [B0+B1, V]; per layer `new_keys.i` and `new_values.i` [B0+B1, Hkv, 1, 1, K].
 */
export function buildPairedGraph(config: ModelConfig, { lora, forms }: ServingOptions): Graph {
  const { headCount: queryHeads, kvHeadCount: kvHeads, headSize, attentionScale: scale } = config;
  const builder = new GraphBuilder();
  const groups = pairedGroups.map((group) => ({
    group,
    tokens: builder.input(groupName("tokens", group), "int64", [`B${group}`, 1]),
    pastLengths: builder.input(groupName("past_lengths", group), "int64", [`B${group}`]),
    rows: builder.input(groupName("rows", group), "int64", [`B${group}`]),
  }));
  const count = dimensionSum(groups.map(({ group }) => `B${group}`));
  const partsOf = madeOnce((x: Value) => madeOnce((rows: Value) => builder.gatherRows(x, rows)));
  const partOf = (x: Value, rows: Value): Value => partsOf(x)(rows);
  const rowsOf = madeOnce((x: Value) => asRows(builder, x));
  const together = (parts: readonly Value[]): Value => builder.concat(parts, 0);
  const weights = weightParts(builder, config, { lora: null, ...(forms && { forms }) });
  const matrices = groups.map(({ group }) => loraInputs(builder, config, { lora, group }));
  const linear: Linear = (projection, x) => {
    if (lora === null) return weights.linear(projection, x);
    const rowsX = rowsOf(x);
    const y = weights.linear(projection, rowsX);
    const adapted = groups.map(({ group, rows }) =>
      addLowRank(
        builder,
        projection,
        { x: partOf(rowsX, rows), y: partOf(y, rows) },
        { matrices: matrices[group], scale: 1 },
      ),
    );
    return builder.reshape(together(adapted), [...x.shape.slice(0, -1), dimensionAt(y.shape, -1)]);
  };
  const outputs: Record<string, Value> = {};
  const logits = addDecoder(builder, config, {
    ...weights,
    linear,
    tokens_BT: together(groups.map(({ tokens }) => tokens)),
    positions_BT: builder.reshape(together(groups.map(({ pastLengths }) => pastLengths)), [count, 1]),
    attend: ({ layer, layerConfig, q, k, v }) => {
      const names = cacheNames(layer);
      const window = layerConfig.slidingWindow ?? undefined;
      const attended = groups.map(({ group, rows, pastLengths }) => {
        const capacity = `C${group}`;
        const shape = [`B${group}`, kvHeads, 1, capacity, headSize];
        const inputs = {
          q: partOf(q, rows),
          k: partOf(k, rows),
          v: partOf(v, rows),
          cacheKeys: builder.input(groupName(names.keys, group), "float32", shape),
          cacheValues: builder.input(groupName(names.values, group), "float32", shape),
        };
        const mask = cacheMask(builder, { pastLengths, capacity, window });
        return cacheAttention(builder, inputs, { queryHeads, kvHeads, headSize, scale, mask }).attention;
      });
      outputs[names.newKeys] = builder.reshape(k, [count, kvHeads, 1, 1, headSize]);
      outputs[names.newValues] = builder.reshape(v, [count, kvHeads, 1, 1, headSize]);
      return together(attended);
    },
    selectRows: (x) => builder.reshape(x, [count, x.shape[2]]),
  });
  return builder.build({ logits, ...outputs });
}

/** Projections that read the same share what is made of it. */
function madeOnce<Made>(make: (value: Value) => Made): (value: Value) => Made {
  const made = new Map<Value, Made>();
  return (value) => {
    const found = made.get(value) ?? make(value);
    made.set(value, found);
    return found;
  };
}

function loraInputs(
  builder: GraphBuilder,
  config: ModelConfig,
  { lora, group }: Pick<ServingOptions, "lora"> & { readonly group: PairedGroup },
): ReadonlyMap<string, Value> {
  const parameters = lora === null ? [] : servingLoraParameters(config, lora);
  return new Map(
    parameters.map(({ name, shape }) => {
      const own = shape.map((size) => (size === "R" ? `R${group}` : size));
      return [name, builder.input(groupName(name, group), "float32", own)];
    }),
  );
}
