// Builds the graph of one new token per row for two groups of rows, in models without recurrences. Each group has its
// own cache; the caches may differ in capacity and adapter. Products with weights cover all rows, so that weights are
// read once; attention and low-rank products use the decode graph's operations for each cache, so a row gets the same
// bits as in that graph.
import { present } from "../../../base/domain/assert.ts";
import { cacheAttention, cacheMask } from "../../../lib/graph/attention.ts";
import { GraphBuilder } from "../../../lib/graph/builder.ts";
import { cacheForm } from "../../../lib/graph/cache-products.ts";
import { dimensionSum } from "../../../lib/graph/dimension.ts";
import type { Graph, Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import { addDecoder } from "../decoder.ts";
import { addLowRank, asRows, type Linear } from "../linear.ts";
import { servingLoraParameters } from "../lora.ts";
import { noRecall, weightParts, type ServingOptions } from "../serving-graphs.ts";
import { cacheNames, cacheOf, inputsOnce, stateNames, stateOf, tokenTaps } from "./sequence-memory.ts";

/** The two groups of rows in a call. The rows of a group share a cache and an adapter. */
export const pairedGroups = [0, 1] as const;

export type PairedGroup = (typeof pairedGroups)[number];

/** Returns the name of a group's input, given the name of the same input in the decode graph. */
export function groupName(name: string, group: PairedGroup): string {
  return `${name}.${group}`;
}

/**
 * Builds the graph. The inputs of group g with Bg rows are:
 * * `tokens.g` int64 [Bg, 1] and `past_lengths.g` int64 [Bg].
 * * `rows.g` int64 [Bg]: indices of the group's rows in the call; group 0 has the first B0 rows, group 1 the others.
 * * Per cache `keys.i.g` and `values.i.g` (`cacheDims`); per state `state.i.g` [Bg, K-1, D].
 * * LoRA matrices `<name>.g`, if the graph takes adapters.
 *
 * @returns graph with the decode graph's outputs over all rows: `logits` [B0+B1, V]; per cache `new_keys.i` and
 * `new_values.i` [B0+B1, Hkv, 1, 1, K]; per state `new_state.i` [B0+B1, K-1, D]
 */
export function buildPairedGraph(config: ModelConfig, { lora, forms }: ServingOptions): Graph {
  const { headCount: queryHeads, attentionScale: scale } = config;
  const builder = new GraphBuilder();
  const cacheInput = inputsOnce(builder);
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
    attend: ({ layer, layerConfig, heads, sinks, q, k, v }) => {
      const { kvHeadCount: kvHeads, headSize } = heads;
      const names = cacheNames(cacheOf(config, layer));
      const window = layerConfig.slidingWindow ?? undefined;
      const attended = groups.map(({ group, rows, pastLengths }) => {
        const { shape, capacity } = cacheForm(`B${group}`, kvHeads, `C${group}`, headSize);
        const inputs = {
          q: partOf(q, rows),
          k: partOf(k, rows),
          v: partOf(v, rows),
          cacheKeys: cacheInput(groupName(names.keys, group), shape),
          cacheValues: cacheInput(groupName(names.values, group), shape),
        };
        const mask = cacheMask(builder, { pastLengths, capacity, window });
        return cacheAttention(builder, inputs, { queryHeads, kvHeads, headSize, scale, mask, sinks })
          .attention;
      });
      outputs[names.newKeys] = builder.reshape(k, [count, kvHeads, 1, 1, headSize]);
      outputs[names.newValues] = builder.reshape(v, [count, kvHeads, 1, 1, headSize]);
      return together(attended);
    },
    taps: ({ layer, x }) => {
      const names = stateNames(stateOf(config, layer, "inputs"));
      const size = present(config.convolution, "a convolution").kernelSize - 1;
      const states = groups.map(({ group }) =>
        builder.input(groupName(names.state, group), "float32", [`B${group}`, size, config.width]),
      );
      const { taps, newState } = tokenTaps(builder, together(states), x);
      outputs[names.newState] = newState;
      return taps;
    },
    recall: noRecall,
    selectRows: (x) => builder.reshape(x, [count, x.shape[2]]),
  });
  return builder.build({ logits, ...outputs });
}

/**
 * Returns a variant of `make` that caches its results, so that projections of the same input share intermediate values.
 */
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
