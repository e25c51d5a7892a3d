// The four graphs that serve a model: whole prompts, later parts of prompts, one token per row over a cache, and
// several tokens per row. The prompt graphs also return hidden states, from which embeddings are made. Graphs only read
// caches and states; the caller stores the new entries that they return.
import { present } from "../../base/domain/assert.ts";
import { cacheAttention, cacheMask } from "../../lib/graph/attention.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { cacheForm } from "../../lib/graph/cache-products.ts";
import { dimensionProduct, type Dimension } from "../../lib/graph/dimension.ts";
import type { Graph, Value } from "../../lib/graph/graph.ts";
import type { CacheShape, ModelConfig } from "./config.ts";
import { addDecoder, addDecoderLayers, addLogits, addRotaryTables, declareWeights } from "./decoder.ts";
import type { DecoderParts } from "./decoder.ts";
import type { TokenCount } from "./experts/mixture.ts";
import { embeddingRows, storedExpertLinear, storedLinear } from "./linear.ts";
import { servingLoraParameters, type LoraForm } from "./lora.ts";
import { promptForms, type WeightForms } from "./quantized/weight-forms.ts";
import { matrixDims, recallAfter, type RecurrenceInputs, recurrenceOf } from "./recurrent/recurrence.ts";
import { replayedInputs, replayedName } from "./serving/replay-graph.ts";
import {
  cacheNames,
  cacheShapes,
  type ConvolvedRows,
  draftTaps,
  cacheOf,
  inputsOnce,
  kvHeadCounts,
  listTaps,
  stateNames,
  stateOf,
  tokenTaps,
  wholeRowTaps,
} from "./serving/sequence-memory.ts";
import { convolutionWidth } from "./recurrent/state-layers.ts";

export interface ServingOptions {
  /** Form in which the graph takes LoRA matrices for all projections (`servingLoraInputs`); null if it takes none. */
  readonly lora: LoraForm | null;
  /**
   * Forms of the weights for decoded tokens; `promptForms` derives the forms for prompts. All weights are float32 if
   * absent.
   */
  readonly forms?: WeightForms;
}

/**
 * Builds the graph of whole prompts.
 * * Inputs: `tokens` int64 [B, T], rows padded on the right with any id; LoRA matrices.
 * * Input `places` int64 [N]: the flat indices b·T + t of the tokens whose logits are wanted.
 * * Input with convolutions: `ends` int64 [B, K-1] (`wholeRowTaps`).
 * * Input with recurrences: `lengths` int64 [B], the number of real tokens of each row.
 * * Outputs: `logits` [N, V]; `hidden` [N, D], the input of the output projection.
 * * Outputs per cache: `new_keys.i` and `new_values.i` [B, Hkv, T, K], keys rotated, meaningless at padding.
 * * Outputs per state: `new_state.i` [B, ...], after the last real token of each row.
 */
export function buildPrefillGraph(config: ModelConfig, options: ServingOptions): Graph {
  const builder = new GraphBuilder();
  const tokens_BT = builder.input("tokens", "int64", ["B", "T"]);
  const places_N = builder.input("places", "int64", ["N"]);
  const ends = stateInput(config, (size) => builder.input("ends", "int64", ["B", size]));
  const lengths = recurrenceOf(config) === null ? null : builder.input("lengths", "int64", ["B"]);
  const positions_BT = builder.expand(builder.reshape(builder.iota("T"), [1, "T"]), ["B", "T"]);
  const outputs: Record<string, Value> = {};
  const scored = addScores(builder, config, {
    ...weightParts(builder, config, ofPrompts(options)),
    tokens_BT,
    positions_BT,
    attend: ({ layer, layerConfig, heads, sinks, q, k, v }) => {
      const result = builder.causalAttention(q, k, v, {
        queryHeads: config.headCount,
        kvHeads: heads.kvHeadCount,
        scale: config.attentionScale,
        window: layerConfig.slidingWindow ?? 0,
        sinks,
      });
      return keepNewCache(outputs, cacheOf(config, layer), result);
    },
    taps: ({ layer, x }) => {
      const rows = wholeRowTaps(builder, x, present(ends, "the ends"));
      return keepNewState(outputs, stateOf(config, layer, "inputs"), rows);
    },
    recall: ({ layer, ...inputs }) => {
      const real = withoutPadding(builder, inputs, present(lengths, "the lengths of rows"));
      const before = builder.full(["B", ...matrixDims(config)], 0);
      const { result, newState } = recallAfter(builder, config, real, before);
      outputs[stateNames(stateOf(config, layer, "matrices")).newState] = newState;
      return result;
    },
    selectRows: (x) => selectPlaces(builder, x, places_N),
  });
  return builder.build({ ...scored, ...outputs });
}

/**
 * Returns the inputs of a recurrence over padded rows [B, T, W], such that padding leaves the state unchanged.
 *
 * @param lengths_B int64 [B]: the number of real tokens of each row
 */
function withoutPadding(builder: GraphBuilder, inputs: RecurrenceInputs, lengths_B: Value): RecurrenceInputs {
  const positions = builder.reshape(builder.iota("T"), [1, "T", 1]);
  const isReal = builder.cast(builder.less(positions, builder.reshape(lengths_B, ["B", 1, 1])), "float32");
  return {
    ...inputs,
    logDecay: builder.multiply(inputs.logDecay, isReal),
    strength: builder.multiply(inputs.strength, isReal),
  };
}

/** Maximum number of prompt parts in one call of {@link buildContinuationGraph}. */
export const laterPartCount = 4;

/** Returns the names of the inputs that belong to one prompt part in {@link buildContinuationGraph}. */
export function laterPartNames(part: number): {
  readonly rows: string;
  readonly pastLength: string;
  readonly keys: (cache: number) => string;
  readonly values: (cache: number) => string;
} {
  return {
    rows: `rows.${part}`,
    pastLength: `past_length.${part}`,
    keys: (cache) => `keys.${cache}.${part}`,
    values: (cache) => `values.${cache}.${part}`,
  };
}

/**
 * Builds the graph of later parts of prompts, each of which continues its own cache. Products are computed over all
 * tokens together and attention by part, because the fused kernel takes one sequence with a past at a time. An unused
 * part costs the launch of about ten operations a layer.
 * * Inputs of all parts: `tokens` and `positions` int64 [N]; `places` int64 [P], the tokens whose logits are wanted;
 * LoRA matrices.
 * * Inputs per part p: `rows.p` int64 [1, Tp], the part's tokens as indices into `tokens`, where a repeated token is
 * computed once; `past_length.p` int64 [1]; per cache `keys.i.p` and `values.i.p` [1, Hkv, Cp, K].
 * * Input `order` int64 [1, N]: for each token, its first index in the concatenated rows of parts 0, 1, ….
 * * Inputs with convolutions (`listTaps`): `tap_places` int64 [K-1, N] and `ends` int64 [parts, K-1]; per state
 * `state.i` [parts, K-1, W].
 * * Inputs with recurrences per part: `own_rows.p` int64 [1, Up], the part's tokens without repetition, or any one
 * token for an unused part; per state `state.i.p` [1, H, K, V].
 * * Outputs: `logits` [P, V]; `hidden` [P, D]; per cache `new_keys.i` and `new_values.i` [1, Hkv, N, K]; per state
 * `new_state.i` [parts, K-1, W] or per part `new_state.i.p` [1, H, K, V].
 */
export function buildContinuationGraph(
  config: ModelConfig,
  options: ServingOptions,
  partCount = laterPartCount,
): Graph {
  const { headCount: queryHeads, attentionScale: scale } = config;
  const builder = new GraphBuilder();
  const cacheInput = inputsOnce(builder);
  const tokens_N = builder.input("tokens", "int64", ["N"]);
  const positions_N = builder.input("positions", "int64", ["N"]);
  const places_P = builder.input("places", "int64", ["P"]);
  const order_N = builder.input("order", "int64", [1, "N"]);
  const tapPlaces = stateInput(config, (size) => ({
    places: builder.input("tap_places", "int64", [size, "N"]),
    ends: builder.input("ends", "int64", [partCount, size]),
  }));
  const parts = Array.from({ length: partCount }, (_, part) => {
    const names = laterPartNames(part);
    return {
      names,
      rows: builder.input(names.rows, "int64", [1, `T${part}`]),
      length: builder.input(names.pastLength, "int64", [1]),
      part,
      ownRows:
        recurrenceOf(config) === null ? null : builder.input(`own_rows.${part}`, "int64", [1, `U${part}`]),
    };
  });
  const rowsOf = (x: Value, rows: Value): Value => {
    const [, count, width] = x.shape;
    return builder.gatherRows(builder.reshape(x, [count, width]), rows);
  };
  const byHead = (x: Value, { kvHeadCount, headSize }: CacheShape): Value =>
    builder.transpose(builder.reshape(x, [1, "N", kvHeadCount, headSize]), [0, 2, 1, 3]);
  const outputs: Record<string, Value> = {};
  const scored = addScores(builder, config, {
    ...weightParts(builder, config, ofPrompts(options)),
    tokens_BT: builder.reshape(tokens_N, [1, "N"]),
    positions_BT: builder.reshape(positions_N, [1, "N"]),
    attend: ({ layer, layerConfig, heads, sinks, q, k, v }) => {
      const cache = cacheOf(config, layer);
      const attended = parts.map(({ names, rows, length, part }) => {
        const shape = [1, heads.kvHeadCount, `C${part}`, heads.headSize];
        const keys = cacheInput(names.keys(cache), shape);
        const values = cacheInput(names.values(cache), shape);
        return builder.continuedAttention(
          { q: rowsOf(q, rows), k: rowsOf(k, rows), v: rowsOf(v, rows) },
          { keys, values, length },
          { queryHeads, kvHeads: heads.kvHeadCount, scale, window: layerConfig.slidingWindow ?? 0, sinks },
        );
      });
      const attention = rowsOf(builder.concat(attended, 1), order_N);
      return keepNewCache(outputs, cache, { attention, keys: byHead(k, heads), values: byHead(v, heads) });
    },
    recall: ({ layer, ...inputs }) => {
      const state = stateOf(config, layer, "matrices");
      const results = parts.map(({ ownRows, part }) => {
        const rows = present(ownRows, "the rows of a part");
        const names = stateNames(state, part);
        const before = builder.input(names.state, "float32", [1, ...matrixDims(config)]);
        const own = {
          q: rowsOf(inputs.q, rows),
          k: rowsOf(inputs.k, rows),
          v: rowsOf(inputs.v, rows),
          logDecay: rowsOf(inputs.logDecay, rows),
          strength: rowsOf(inputs.strength, rows),
        };
        const { result, newState } = recallAfter(builder, config, own, before);
        outputs[names.newState] = newState;
        return result;
      });
      // Used parts come first, and together have N tokens. The results of unused parts come after them and are cut off.
      return builder.slice(builder.concat(results, 1), 1, 0, "N");
    },
    taps: ({ layer, x }) => {
      const state = stateOf(config, layer, "inputs");
      const before = builder.input(stateNames(state).state, "float32", [
        partCount,
        kernelSize(config) - 1,
        convolutionWidth(config, layer),
      ]);
      const rows = listTaps(builder, before, x, present(tapPlaces, "the places of taps"));
      return keepNewState(outputs, state, rows);
    },
    selectRows: (x) => selectPlaces(builder, x, places_P),
  });
  return builder.build({ ...scored, ...outputs });
}

/**
 * Builds the graph of one new token per row over a cache.
 * * Inputs: `tokens` int64 [B, 1]; LoRA matrices.
 * * Input `past_lengths` int64 [B]: the filled length of each row's cache, which is the position of its new token.
 * * Inputs per cache: `keys.i` and `values.i` (`cacheDims`); numbers after `past_lengths` are ignored, but must be
 * finite.
 * * Input per state: `state.i` [B, ...].
 * * Outputs: `logits` [B, V]; per cache `new_keys.i` and `new_values.i` [B, Hkv, 1, 1, K]; per state `new_state.i` [B,
 * ...].
 */
export function buildDecodeGraph(config: ModelConfig, options: ServingOptions): Graph {
  const { headCount: queryHeads, attentionScale: scale } = config;
  const builder = new GraphBuilder();
  const cacheInput = inputsOnce(builder);
  const tokens_BT = builder.input("tokens", "int64", ["B", 1]);
  const pastLengths_B = builder.input("past_lengths", "int64", ["B"]);
  const outputs: Record<string, Value> = {};
  const logits = addDecoder(builder, config, {
    ...weightParts(builder, config, options),
    tokens_BT,
    positions_BT: builder.reshape(pastLengths_B, ["B", 1]),
    attend: ({ layer, layerConfig, heads, sinks, q, k, v }) => {
      const { kvHeadCount: kvHeads, headSize } = heads;
      const cache = cacheOf(config, layer);
      const names = cacheNames(cache);
      const { shape, capacity } = cacheForm("B", kvHeads, "C", headSize);
      const cacheKeys = cacheInput(names.keys, shape);
      const cacheValues = cacheInput(names.values, shape);
      const window = layerConfig.slidingWindow ?? undefined;
      const mask = cacheMask(builder, { pastLengths: pastLengths_B, capacity, window });
      const inputs = { q, k, v, cacheKeys, cacheValues };
      const result = cacheAttention(builder, inputs, { queryHeads, kvHeads, headSize, scale, mask, sinks });
      return keepNewCache(outputs, cache, result);
    },
    taps: ({ layer, x }) => {
      const state = stateOf(config, layer, "inputs");
      return keepNewState(outputs, state, tokenTaps(builder, rowStates(builder, config, layer), x));
    },
    recall: ({ layer, ...inputs }) => {
      const names = stateNames(stateOf(config, layer, "matrices"));
      const before = builder.input(names.state, "float32", ["B", ...matrixDims(config)]);
      const { result, newState } = recallAfter(builder, config, inputs, before);
      outputs[names.newState] = newState;
      return result;
    },
    selectRows: (x) => builder.reshape(x, ["B", x.shape[2]]),
  });
  return builder.build({ logits, ...outputs });
}

/**
 * Builds the graph of several new tokens per row over a cache. Each token gets the same bits as from the decode graph
 * after the preceding tokens, because the new keys and values are put into a copy of the cache at the same positions. A
 * row with fewer tokens repeats its last one.
 * * Inputs: `tokens` and `positions` int64 [B, T]; LoRA matrices.
 * * Inputs `places.Hkv` int64 [B, Hkv, T], one for each number Hkv of key-value heads that a layer has: the flat index
 *   in the cache's [B, Hkv, C] of each new token's position.
 * * Inputs per cache and state: as in the decode graph, with C greater than every position.
 * * Input with recurrences: `lengths` int64 [B], the number of different tokens of each row.
 * * Outputs: `logits` [B*T, V]; per cache `new_keys.i` and `new_values.i` [B, Hkv, T, K].
 * * Output per state of a convolution: `new_state.i` [B, T, K-1, W], the state after each token.
 * * Outputs per state of a recurrence: `new_state.i` [B, H, K, V], the state after all tokens of each row; the inputs
 *   from which `buildReplayGraph` computes the state after fewer tokens.
 */
export function buildDraftGraph(config: ModelConfig, options: ServingOptions): Graph {
  const { headCount: queryHeads, attentionScale: scale } = config;
  const builder = new GraphBuilder();
  const cacheInput = inputsOnce(builder);
  const tokens_BT = builder.input("tokens", "int64", ["B", "T"]);
  const positions_BT = builder.input("positions", "int64", ["B", "T"]);
  const placesOf = new Map(
    kvHeadCounts(cacheShapes(config)).map((kvHeads) => [
      kvHeads,
      builder.input(draftPlaces(kvHeads), "int64", ["B", kvHeads, "T"]),
    ]),
  );
  const rows = dimensionProduct(["B", "T"]);
  const lengths = recurrenceOf(config) === null ? null : builder.input("lengths", "int64", ["B"]);
  const pastLengths = builder.reshape(positions_BT, [rows]);
  const byHead = (x: Value, { kvHeadCount, headSize }: CacheShape): Value =>
    builder.transpose(builder.reshape(x, ["B", "T", kvHeadCount, headSize]), [0, 2, 1, 3]);
  /** Puts the keys or values of the new tokens, [B, Hkv, T, K], into a copy of the cache. */
  const placed = (cache: Value, x: Value): Value => {
    const [, kvHeads, , headSize] = x.shape as readonly [Dimension, number, Dimension, number];
    const places = present(placesOf.get(kvHeads), "the places of new tokens");
    const ids = builder.reshape(places, [dimensionProduct(places.shape)]);
    const table = builder.reshape(cache, [dimensionProduct(cache.shape.slice(0, -1)), headSize]);
    const filled = builder.placeRows(table, builder.reshape(x, [...ids.shape, headSize]), ids);
    return builder.reshape(filled, cache.shape);
  };
  const outputs: Record<string, Value> = {};
  const logits = addDecoder(builder, config, {
    ...weightParts(builder, config, options),
    tokens_BT,
    positions_BT,
    attend: ({ layer, layerConfig, heads, sinks, q, k, v }) => {
      const { kvHeadCount: kvHeads, headSize } = heads;
      const cache = cacheOf(config, layer);
      const names = cacheNames(cache);
      const { shape, capacity } = cacheForm("B", kvHeads, "C", headSize);
      const [keys, values] = [byHead(k, heads), byHead(v, heads)];
      const cacheKeys = placed(cacheInput(names.keys, shape), keys);
      const cacheValues = placed(cacheInput(names.values, shape), values);
      const window = layerConfig.slidingWindow ?? undefined;
      const mask = cacheMask(builder, { pastLengths, capacity, window });
      const inputs = { q, k, v, cacheKeys, cacheValues };
      const { attention } = cacheAttention(builder, inputs, {
        queryHeads,
        kvHeads,
        headSize,
        scale,
        mask,
        sinks,
      });
      return keepNewCache(outputs, cache, { attention, keys, values });
    },
    taps: ({ layer, x }) => {
      const state = stateOf(config, layer, "inputs");
      return keepNewState(outputs, state, draftTaps(builder, rowStates(builder, config, layer), x));
    },
    recall: ({ layer, ...inputs }) => {
      const state = stateOf(config, layer, "matrices");
      const names = stateNames(state);
      const real = withoutPadding(builder, inputs, present(lengths, "the lengths of rows"));
      const before = builder.input(names.state, "float32", ["B", ...matrixDims(config)]);
      const { result, newState } = recallAfter(builder, config, real, before);
      outputs[names.newState] = newState;
      for (const name of replayedInputs) outputs[replayedName(state, name)] = inputs[name];
      return result;
    },
    selectRows: (x) => builder.reshape(x, [rows, x.shape[2]]),
  });
  return builder.build({ logits, ...outputs });
}

/** Returns the name of the input `places.Hkv` of {@link buildDraftGraph}, for this number of key-value heads. */
export function draftPlaces(kvHeads: number): string {
  return `places.${kvHeads}`;
}

/**
 * Computes the logits of the selected rows, and returns them with the hidden states from which the logits are computed.
 */
function addScores(
  builder: GraphBuilder,
  config: ModelConfig,
  parts: DecoderParts,
): Readonly<Record<"logits" | "hidden", Value>> {
  const hidden = addDecoderLayers(builder, config, parts);
  return { logits: addLogits(builder, config, parts, hidden), hidden };
}

function ofPrompts({ lora, forms }: ServingOptions): ServingOptions & { readonly tokenCount: TokenCount } {
  return { lora, tokenCount: "many", ...(forms && { forms: promptForms(forms) }) };
}

/** Returns the functions that apply a graph's weights. If the graph takes an adapter, they apply it too. */
export function weightParts(
  builder: GraphBuilder,
  config: ModelConfig,
  { lora, forms, tokenCount = "few" }: ServingOptions & { readonly tokenCount?: TokenCount },
): Pick<DecoderParts, "weight" | "embed" | "linear" | "expertLinear" | "rotaryTables"> {
  const weights = declareWeights(builder, config, "parameters", forms && { forms });
  const tables = addRotaryTables(builder, config);
  const inputs = lora === null ? [] : servingLoraParameters(config, lora);
  const matrices = new Map(inputs.map(({ name, shape }) => [name, builder.input(name, "float32", shape)]));
  return {
    weight: (name) => present(weights.values.get(name), name),
    embed: (tokens, table) => embeddingRows(builder, weights, tokens, table),
    linear: storedLinear(builder, weights, lora === null ? null : { matrices, scale: 1 }),
    expertLinear: storedExpertLinear(builder, weights, tokenCount),
    rotaryTables: (index) => tables[index],
  };
}

function keepNewCache(
  outputs: Record<string, Value>,
  cache: number,
  result: { readonly attention: Value; readonly keys: Value; readonly values: Value },
): Value {
  const names = cacheNames(cache);
  // Layers that share a cache return the same new keys and values, so the first layer's are used.
  outputs[names.newKeys] ??= result.keys;
  outputs[names.newValues] ??= result.values;
  return result.attention;
}

function keepNewState(
  outputs: Record<string, Value>,
  state: number,
  { taps, newState }: ConvolvedRows,
): readonly Value[] {
  outputs[stateNames(state).newState] = newState;
  return taps;
}

/**
 * Returns the inputs that only models with convolutions need; null for other models.
 *
 * @param make creates the inputs; its argument is the kernel size minus 1
 */
function stateInput<Inputs>({ convolution }: ModelConfig, make: (size: number) => Inputs): Inputs | null {
  return convolution === null ? null : make(convolution.kernelSize - 1);
}

/** Declares the state of a layer's convolution for each row, [B, K-1, W]. */
function rowStates(builder: GraphBuilder, config: ModelConfig, layer: number): Value {
  const shape = ["B", kernelSize(config) - 1, convolutionWidth(config, layer)];
  return builder.input(stateNames(stateOf(config, layer, "inputs")).state, "float32", shape);
}

/** Throws an error. The graph for pairs of caches does not support recurrences. */
export function noRecall(): never {
  throw new Error("a graph for models without recurrences");
}

function kernelSize({ convolution }: ModelConfig): number {
  return present(convolution, "a convolution").kernelSize;
}

/** Selects the rows of x [B, T, D] at flat indices b·T + t; the result is [N, D]. */
function selectPlaces(builder: GraphBuilder, x: Value, places_N: Value): Value {
  const [rows, length, width] = x.shape;
  return builder.gatherRows(builder.reshape(x, [dimensionProduct([rows, length]), width]), places_N);
}
