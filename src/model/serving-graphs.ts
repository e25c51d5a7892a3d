// The two graphs that serve a model: whole prompts without a past, and new tokens over a cache.
// Caches are read only; new keys and values come out, and whoever runs the graph writes them into its cache.
import { present } from "../domain/assert.ts";
import { cacheAttention, cacheMask } from "../graph/attention.ts";
import { GraphBuilder } from "../graph/builder.ts";
import type { Dimension } from "../graph/dimension.ts";
import type { Graph, Value } from "../graph/graph.ts";
import type { ModelConfig } from "./config.ts";
import { addDecoder, addLoraInputs, addRotaryTables, weightSource } from "./decoder.ts";
import type { AttentionInputs, DecoderParts } from "./decoder.ts";
import { projectionNames } from "./parameters.ts";

export interface ServingOptions {
  /** Whether the graph takes the LoRA matrices of all seven projections as inputs (rank "R", scale folded into B: `servingLoraInputs`). */
  readonly hasLora: boolean;
}

export interface DecodeOptions extends ServingOptions {
  /** 1 makes the leaner graph for one token per row, without the input `places`; "T" takes any number. */
  readonly tokenCount: 1 | "T";
}

/** The names of one layer's cache inputs and outputs. */
export function cacheNames(layer: number): {
  readonly keys: string;
  readonly values: string;
  readonly newKeys: string;
  readonly newValues: string;
} {
  return {
    keys: `keys.${layer}`,
    values: `values.${layer}`,
    newKeys: `new_keys.${layer}`,
    newValues: `new_values.${layer}`,
  };
}

/**
 * The graph of whole prompts.
 *
 * Inputs: `tokens` int64 [B, T], rows padded on the right with any id; `places` int64 [N], the flat indices b·T + t of the
 * tokens after which logits are wanted; LoRA matrices. Outputs: `logits` [N, V]; per layer `new_keys.i` and
 * `new_values.i` [B, Hkv, T, K], keys rotated, meaningless at padding.
 */
export function buildPrefillGraph(config: ModelConfig, options: ServingOptions): Graph {
  const builder = new GraphBuilder();
  const tokens_BT = builder.input("tokens", "int64", ["B", "T"]);
  const places_N = builder.input("places", "int64", ["N"]);
  const positions_BT = builder.expand(builder.reshape(builder.iota("T"), [1, "T"]), ["B", "T"]);
  const outputs: Record<string, Value> = {};
  const logits = addDecoder(builder, config, {
    ...weightParts(builder, config, options),
    tokens_BT,
    positions_BT,
    attend: ({ layer, layerConfig, q, k, v }) => {
      const result = builder.causalAttention(q, k, v, {
        queryHeads: config.headCount,
        kvHeads: config.kvHeadCount,
        scale: config.attentionScale,
        window: layerConfig.slidingWindow ?? undefined,
      });
      return keepNewCache(outputs, layer, result);
    },
    selectRows: (x) => selectPlaces(builder, x, places_N),
  });
  return builder.build({ logits, ...outputs });
}

/**
 * The graph of new tokens over a cache.
 *
 * Inputs: `tokens` int64 [B, T], rows padded on the right; `past_lengths` int64 [B], how much of each row's cache is filled, and so
 * the position of its first new token; `places` int64 [N] (only with tokenCount "T"); per layer `keys.i` and
 * `values.i` [B, Hkv, C, K]; LoRA matrices. What lies beyond `past_lengths` has to be finite and is not seen.
 * Outputs: as {@link buildPrefillGraph}; with tokenCount 1 logits are [B, V] and the new keys and values are [B, Hkv, 1, 1, K].
 */
export function buildDecodeGraph(config: ModelConfig, options: DecodeOptions): Graph {
  const builder = new GraphBuilder();
  const length = options.tokenCount;
  const tokens_BT = builder.input("tokens", "int64", ["B", length]);
  const pastLengths_B = builder.input("past_lengths", "int64", ["B"]);
  const places_N = length === 1 ? null : builder.input("places", "int64", ["N"]);
  const positions_BT = builder.add(
    builder.reshape(pastLengths_B, ["B", 1]),
    builder.reshape(builder.iota(length), [1, length]),
  );
  const outputs: Record<string, Value> = {};
  const logits = addDecoder(builder, config, {
    ...weightParts(builder, config, options),
    tokens_BT,
    positions_BT,
    attend: (inputs) => keepNewCache(outputs, inputs.layer, attendCache(inputs)),
    selectRows: (x) =>
      places_N === null ? builder.reshape(x, ["B", x.shape[2]]) : selectPlaces(builder, x, places_N),
  });
  return builder.build({ logits, ...outputs });

  function attendCache({ layer, layerConfig, q, k, v }: AttentionInputs): ReturnType<typeof cacheAttention> {
    const { headCount: queryHeads, kvHeadCount: kvHeads, headSize, attentionScale: scale } = config;
    const window = layerConfig.slidingWindow ?? undefined;
    const shape: readonly Dimension[] = ["B", kvHeads, "C", headSize];
    const names = cacheNames(layer);
    const cacheKeys = builder.input(names.keys, "float32", shape);
    const cacheValues = builder.input(names.values, "float32", shape);
    const mask = cacheMask(builder, { pastLengths: pastLengths_B, length, capacity: "C", window });
    return cacheAttention(
      builder,
      { q, k, v, cacheKeys, cacheValues },
      { queryHeads, kvHeads, headSize, scale, mask },
    );
  }
}

function weightParts(
  builder: GraphBuilder,
  config: ModelConfig,
  { hasLora }: ServingOptions,
): Pick<DecoderParts, "weight" | "rotaryTables" | "lora"> {
  const weights = weightSource(builder, config, "parameters");
  const tables = addRotaryTables(builder, config);
  return {
    weight: (name) => present(weights.get(name), name),
    rotaryTables: (index) => tables[index],
    lora: hasLora ? addLoraInputs(builder, config, { targets: projectionNames, rank: "R", scale: 1 }) : null,
  };
}

function keepNewCache(
  outputs: Record<string, Value>,
  layer: number,
  result: { readonly attention: Value; readonly keys: Value; readonly values: Value },
): Value {
  const names = cacheNames(layer);
  outputs[names.newKeys] = result.keys;
  outputs[names.newValues] = result.values;
  return result.attention;
}

/** From x [B, T, D] the rows at flat places, [N, D]. */
function selectPlaces(builder: GraphBuilder, x: Value, places_N: Value): Value {
  return builder.gatherRows(builder.reshape(x, ["B*T", x.shape[2]]), places_N);
}
