/**
 * Lowers products of rows with the weights of their own experts. Rows of one expert form tiles of a fixed number of
 * rows, so all products have one shape, and the runtime sums a row in the same order in any tile. A loop multiplies one
 * tile at a time: it copies one expert's weights, and does not read those of unused experts.
 */
import type { DataType } from "../graph.ts";
import { codeProduct, rowCodes, signedNumbers } from "./integer-codes.ts";
import { CONTRIB_DOMAIN, dataTypeNumbers, type OnnxModelWriter } from "./onnx-model.ts";

/** Names of the values that distribute P pairs over tiles. A pair is a row and an expert that computes it. */
export interface ExpertTiles {
  /** int64 of rank 0: number of tiles. */
  readonly count: string;
  /** int64 [tiles]: expert of each tile. */
  readonly experts: string;
  /** int64 [tiles, rows]: pairs of each tile; unused rows repeat pair 0. */
  readonly pairs: string;
  /** int64 [P]: for each pair, the index of its row among the rows of all tiles. */
  readonly places: string;
}

/** Adds the assignment of pairs to tiles. Products with the same experts share it. */
export function tilesOf(
  model: OnnxModelWriter,
  experts: string,
  {
    expertCount,
    pairCount,
    tileRows,
  }: { readonly expertCount: number; readonly pairCount: string; readonly tileRows: number },
): ExpertTiles {
  const int = (...values: readonly number[]): string => model.constant("int64", [values.length], values);
  const scalar = (value: number): string => model.constant("int64", [], [value]);
  const range = (end: string): string => model.shared("Range", [scalar(0), end, scalar(1)]);
  const cast = (x: string): string => model.shared("Cast", [x], { to: dataTypeNumbers.int64 });
  const byPair = model.shared("Unsqueeze", [experts, int(1)]);
  const isChosen = cast(model.shared("Equal", [byPair, range(scalar(expertCount))]));
  const pairsSoFar = model.shared("CumSum", [isChosen, scalar(0)]);
  const pairsOf = model.shared("ReduceSum", [isChosen, int(0)], { keepdims: 0 });
  const tilesOfExpert = model.shared("Div", [
    model.shared("Add", [pairsOf, int(tileRows - 1)]),
    int(tileRows),
  ]);
  const ends = model.shared("CumSum", [tilesOfExpert, scalar(0)]);
  const firstRows = model.shared("Mul", [model.shared("Sub", [ends, tilesOfExpert]), int(tileRows)]);
  const number = model.shared("GatherElements", [pairsSoFar, byPair], { axis: 1 });
  const inExpert = model.shared("Sub", [model.shared("Squeeze", [number, int(1)]), int(1)]);
  const places = model.shared("Add", [model.shared("Gather", [firstRows, experts]), inExpert]);
  const count = model.shared("Gather", [ends, scalar(expertCount - 1)]);
  const byTile = model.shared("Unsqueeze", [range(count), int(1)]);
  const isLater = cast(model.shared("LessOrEqual", [ends, byTile]));
  const zeros = model.shared("Expand", [scalar(0), model.shared("Mul", [count, int(tileRows)])]);
  const pairs = model.shared("ScatterElements", [zeros, places, range(model.shared("Squeeze", [pairCount]))]);
  return {
    count,
    experts: model.shared("ReduceSum", [isLater, int(1)], { keepdims: 0 }),
    pairs: model.shared("Reshape", [pairs, int(-1, tileRows)]),
    places,
  };
}

/** Weights of all experts: the names of the weights (or codes) and of their scales, and the type of the weights. */
export interface ExpertWeights {
  readonly name: string;
  readonly scales: string;
  readonly dtype: DataType;
}

/** Adds the products; returns their name. */
export function expertProduct(
  model: OnnxModelWriter,
  {
    x,
    tiles,
    isTransposed,
  }: { readonly x: string; readonly tiles: ExpertTiles; readonly isTransposed: boolean },
  { name, scales, dtype }: ExpertWeights,
): string {
  const isFloat = dtype === "float32";
  const rounded = isFloat || isTransposed ? null : rowCodes(model, x);
  const [products = ""] = model.loop(tiles.count, [], (tile) => {
    const at = (table: string, index: string): string => model.node("Gather", [table, index]);
    const expert = at(tiles.experts, tile);
    const rows = at(rounded?.codes ?? x, at(tiles.pairs, tile));
    const weight = { name: at(name, expert), dtype };
    if (isFloat) return [product(model, rows, weight.name, isTransposed ? 0 : 1)];
    const ownScales = at(scales, expert);
    if (!isTransposed) return [codeProduct(model, rows, weight, ownScales)];
    return [product(model, rows, model.node("Mul", [signedNumbers(model, weight), ownScales]), 1)];
  });
  const flat = model.node("Flatten", [products], { attributes: { axis: 2 } });
  const results = model.node("Gather", [flat, tiles.places]);
  return rounded === null ? results : model.node("Mul", [results, rounded.size]);
}

function product(model: OnnxModelWriter, a: string, b: string, transB: 0 | 1): string {
  return model.node("FusedMatMul", [a, b], { domain: CONTRIB_DOMAIN, attributes: { transB } });
}
