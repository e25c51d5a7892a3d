// Memory of a sequence between calls of the serving graphs. Layers with attention have caches, with keys and values of
// each position; other layers have states of a fixed size: the last inputs of a convolution, and the matrices of a delta
// rule. Graphs number caches and states from 0, in the order of their layers.
import { assert } from "../../../base/domain/assert.ts";
import type { GraphBuilder } from "../../../lib/graph/builder.ts";
import { dimensionProduct, dimensionSum } from "../../../lib/graph/dimension.ts";
import type { Value } from "../../../lib/graph/graph.ts";
import { dimensionAt } from "../../../lib/graph/shape-rules.ts";
import type { ModelConfig } from "../config.ts";
import { convolutionWidth } from "../parameters.ts";

/**
 * Dimensions of a state:
 * * `inputs`: the inputs of a convolution at the last positions, oldest first, [kernel size - 1, width].
 * * `matrices`: one matrix for each head, [heads, key size, value size].
 */
export interface StateShape {
  readonly kind: "inputs" | "matrices";
  readonly dims: readonly number[];
}

/** Returns the number of layers with keys and values. */
export function countCaches(config: ModelConfig): number {
  return config.layers.filter(({ kind }) => kind === "attention").length;
}

/** Returns the states of a sequence, in the order of their layers. */
export function stateShapes(config: ModelConfig): readonly StateShape[] {
  return config.layers.flatMap((_, layer) => layerStates(config, layer));
}

/** Returns the states of one layer: the inputs of its convolution, then the matrices of its delta rule. */
function layerStates(config: ModelConfig, layer: number): readonly StateShape[] {
  const { convolution, delta } = config;
  const { kind } = config.layers[layer];
  if (kind === "attention" || convolution === null) return [];
  const dims = [convolution.kernelSize - 1, convolutionWidth(config, layer)];
  const inputs: StateShape = { kind: "inputs", dims };
  if (kind !== "delta" || delta === null) return [inputs];
  return [inputs, { kind: "matrices", dims: [delta.valueHeads, delta.keySize, delta.valueSize] }];
}

/** Returns the number of a layer's cache. */
export function cacheOf({ layers }: ModelConfig, layer: number): number {
  return layers.slice(0, layer).filter(({ kind }) => kind === "attention").length;
}

/** Returns the number of a layer's state of some kind. */
export function stateOf(config: ModelConfig, layer: number, kind: StateShape["kind"]): number {
  const before = Array.from({ length: layer }, (_, index) => layerStates(config, index).length);
  const place = layerStates(config, layer).findIndex((state) => state.kind === kind);
  return before.reduce((sum, count) => sum + count, 0) + place;
}

/** Returns the names of one cache's inputs and outputs. */
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
 * Returns the names of one state's input and output.
 *
 * @param part number of the part in a graph of several parts that have separate inputs; absent if they share one
 */
export function stateNames(
  state: number,
  part?: number,
): { readonly state: string; readonly newState: string } {
  const place = part === undefined ? `${state}` : `${state}.${part}`;
  return { state: `state.${place}`, newState: `new_state.${place}` };
}

/** Inputs of a convolution's outputs, oldest first, and the sequence's state after the last position. */
export interface ConvolvedRows {
  readonly taps: readonly Value[];
  readonly newState: Value;
}

/** Returns the taps of one new position per row: x [B, 1, D] after the state [B, K-1, D]. */
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
 * Returns the taps of whole rows x [B, T, D], padded on the right.
 *
 * @param ends int64 [B, K-1]: the last real positions of each row, counted in the flattened rows of K-1+T positions
 * that begin with K-1 zeros
 */
export function wholeRowTaps(builder: GraphBuilder, x: Value, ends: Value): ConvolvedRows {
  const [rows, length, width] = x.shape;
  const size = positionsOf(ends);
  const joined = builder.concat([builder.full([rows, size, width], 0), x], 1);
  const flat = builder.reshape(joined, [dimensionProduct([rows, dimensionSum([size, length])]), width]);
  return { taps: shiftedRows(builder, joined, x, size), newState: builder.gatherRows(flat, ends) };
}

/**
 * Returns the taps of several new positions per row: x [B, T, D] after the state [B, K-1, D]. The new states [B, T,
 * K-1, D] are those after each position.
 */
export function draftTaps(builder: GraphBuilder, state: Value, x: Value): ConvolvedRows {
  const [rows, length, width] = x.shape;
  const joined = builder.concat([state, x], 1);
  const taps = shiftedRows(builder, joined, x, positionsOf(state));
  const after = taps.slice(1).map((tap) => builder.reshape(tap, [rows, length, 1, width]));
  return { taps, newState: builder.concat(after, 2) };
}

/**
 * Returns rows [B, T, D] of `joined` [B, K-1+T, D] by their distance, from K-1 positions before x to x itself.
 *
 * @param size K-1
 */
export function shiftedRows(builder: GraphBuilder, joined: Value, x: Value, size: number): readonly Value[] {
  const length = dimensionAt(x.shape, 1);
  const from = (place: number): Value => builder.slice(joined, 1, place, dimensionSum([place, length]));
  return [...Array.from({ length: size }, (_, place) => from(place)), x];
}

/**
 * Returns the taps of a list of tokens x [1, N, D] that continue several states [P, K-1, D].
 *
 * @param places int64 [K-1, N]: each token's inputs before its own, and `ends` int64 [P, K-1]: the last inputs of each
 * part, as indices of the flattened states followed by the tokens
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
