// Data of a sequence that stays in memory between calls of the serving graphs. A layer with attention has a cache of
// each position's keys and values, unless it attends to those of an earlier layer. Other layers have states of a fixed
// size: the last inputs of a convolution, and the matrices of a recurrence (delta rule or Mamba-2).
import { assert } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct, dimensionSum, type Shape } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import { headsOf, type CacheShape, type LayerConfig, type ModelConfig } from "../config.ts";
import { matrixDims } from "../recurrent/recurrence.ts";
import { convolutionWidth } from "../recurrent/state-layers.ts";

/**
 * Kind and dimensions of a state. Caches and states are numbered from 0, in the order of their layers.
 *
 * - `inputs`: the inputs of a convolution at the last positions, oldest first, [kernel size - 1, width]
 * - `matrices`: one matrix for each head, [heads, key size, value size]
 */
export interface StateShape {
  readonly kind: "inputs" | "matrices";
  readonly dims: readonly number[];
}

/** Returns the shapes of a model's caches, in the order of their layers. */
export function cacheShapes(config: ModelConfig): readonly CacheShape[] {
  return config.layers.flatMap((layerConfig, layer) =>
    hasCache(layerConfig) ? [headsOf(config, layer)] : [],
  );
}

/** Returns the distinct numbers of key-value heads that the caches have. */
export function kvHeadCounts(caches: readonly CacheShape[]): readonly number[] {
  return [...new Set(caches.map(({ kvHeadCount }) => kvHeadCount))];
}

function hasCache(layer: LayerConfig): boolean {
  return layer.kind === "attention" && layer.keysFrom === undefined;
}

/** Returns the shapes of all states of a sequence, in the order of their layers. */
export function stateShapes(config: ModelConfig): readonly StateShape[] {
  return config.layers.flatMap((_, layer) => layerStates(config, layer));
}

/**
 * Returns the shapes of one layer's states: first the inputs of its convolution, then the matrices of its
 * recurrence.
 */
function layerStates(config: ModelConfig, layer: number): readonly StateShape[] {
  const { convolution } = config;
  const { kind } = config.layers[layer];
  if (kind === "attention" || kind === "feed-forward" || convolution === null) return [];
  const dims = [convolution.kernelSize - 1, convolutionWidth(config, layer)];
  const inputs: StateShape = { kind: "inputs", dims };
  return kind === "convolution" ? [inputs] : [inputs, { kind: "matrices", dims: matrixDims(config) }];
}

/** Returns the index, among the model's caches, of the cache that a layer attends to. */
export function cacheOf({ layers }: ModelConfig, layer: number): number {
  const layerConfig = layers[layer];
  const source = layerConfig.kind === "attention" ? (layerConfig.keysFrom ?? layer) : layer;
  return layers.slice(0, source).filter(hasCache).length;
}

/**
 * Returns a function that declares an input of a graph when it is first called with a name. Later calls with the same
 * name return the same input, because several layers may read it.
 */
export function inputsOnce(builder: GraphBuilder): (name: string, shape: Shape) => Value {
  const declared = new Map<string, Value>();
  return (name, shape) => {
    const value = declared.get(name) ?? builder.input(name, "float32", shape);
    declared.set(name, value);
    return value;
  };
}

/** Returns the index of a layer's state of a given kind among the model's states. */
export function stateOf(config: ModelConfig, layer: number, kind: StateShape["kind"]): number {
  const before = Array.from({ length: layer }, (_, index) => layerStates(config, index).length);
  const place = layerStates(config, layer).findIndex((state) => state.kind === kind);
  return before.reduce((sum, count) => sum + count, 0) + place;
}

/** Returns the names of the graph's inputs and outputs for one cache. */
export function cacheNames(cache: number): {
  readonly keys: string;
  readonly values: string;
  readonly newKeys: string;
  readonly newValues: string;
} {
  return {
    keys: `keys.${cache}`,
    values: `values.${cache}`,
    newKeys: `new_keys.${cache}`,
    newValues: `new_values.${cache}`,
  };
}

/**
 * Returns the names of the graph's input and output for one state.
 *
 * @param part index of the prompt part in a graph whose parts have separate inputs; absent if the parts share one input
 */
export function stateNames(
  state: number,
  part?: number,
): { readonly state: string; readonly newState: string } {
  const place = part === undefined ? `${state}` : `${state}.${part}`;
  return { state: `state.${place}`, newState: `new_state.${place}` };
}

/**
 * The taps of a convolution, and the state after the last position. Tap i of an output is the input K-1-i positions
 * before the output, where K is the kernel size.
 */
export interface ConvolvedRows {
  readonly taps: readonly Value[];
  readonly newState: Value;
}

/** Returns the taps for one new position per row: x [B, 1, D] follows the state [B, K-1, D]. */
export function tokenTaps(builder: GraphBuilder, state: Value, x: Value): ConvolvedRows {
  const joined = builder.concat([state, x], 1);
  const size = positionsOf(state);
  const at = (place: number): Value => builder.slice(joined, 1, place, place + 1);
  return {
    taps: [...Array.from({ length: size }, (_, place) => at(place)), x],
    newState: builder.slice(joined, 1, 1, size + 1),
  };
}

/**
 * Returns the taps for whole rows x [B, T, D], padded on the right.
 *
 * @param ends int64 [B, K-1]: the last real positions of each row. They are indices into the flattened rows of K-1+T
 * positions, each of which begins with K-1 zeros.
 */
export function wholeRowTaps(builder: GraphBuilder, x: Value, ends: Value): ConvolvedRows {
  const [rows, length, width] = x.shape;
  const size = positionsOf(ends);
  const joined = builder.concat([builder.full([rows, size, width], 0), x], 1);
  const flat = builder.reshape(joined, [dimensionProduct([rows, dimensionSum([size, length])]), width]);
  return { taps: shiftedRows(builder, joined, x, size), newState: builder.gatherRows(flat, ends) };
}

/**
 * Returns the taps for several new positions per row: x [B, T, D] follows the state [B, K-1, D]. The result has the
 * state after each position, [B, T, K-1, D].
 */
export function draftTaps(builder: GraphBuilder, state: Value, x: Value): ConvolvedRows {
  const [rows, length, width] = x.shape;
  const joined = builder.concat([state, x], 1);
  const taps = shiftedRows(builder, joined, x, positionsOf(state));
  const after = taps.slice(1).map((tap) => builder.reshape(tap, [rows, length, 1, width]));
  return { taps, newState: builder.concat(after, 2) };
}

/**
 * Returns K slices [B, T, D] of `joined` [B, K-1+T, D]. At each position, slice i has the input from K-1-i positions
 * earlier, so the last slice is x itself.
 *
 * @param size K-1
 */
export function shiftedRows(builder: GraphBuilder, joined: Value, x: Value, size: number): readonly Value[] {
  const length = dimensionAt(x.shape, 1);
  const from = (place: number): Value => builder.slice(joined, 1, place, dimensionSum([place, length]));
  return [...Array.from({ length: size }, (_, place) => from(place)), x];
}

/**
 * Returns the taps for tokens x [1, N, D] of several prompt parts, which continue the states [P, K-1, D].
 *
 * @param places int64 [K-1, N]: the inputs before each token, and `ends` int64 [P, K-1]: the last inputs of each part.
 * Both are indices into the flattened states followed by the tokens.
 */
export function listTaps(
  builder: GraphBuilder,
  state: Value,
  x: Value,
  { places, ends }: { readonly places: Value; readonly ends: Value },
): ConvolvedRows {
  const [parts, size, width] = state.shape;
  const count = dimensionAt(x.shape, 1);
  const table = builder.concat(
    [builder.reshape(state, [dimensionProduct([parts, size]), width]), builder.reshape(x, [count, width])],
    0,
  );
  const at = (place: number): Value => {
    const ids = builder.reshape(builder.slice(places, 0, place, place + 1), [1, count]);
    return builder.gatherRows(table, ids);
  };
  return {
    taps: [...Array.from({ length: positionsOf(state) }, (_, place) => at(place)), x],
    newState: builder.gatherRows(table, ends),
  };
}

function positionsOf(x: Value): number {
  const size = dimensionAt(x.shape, 1);
  assert(typeof size === "number", "the size of a state is known");
  return size;
}
