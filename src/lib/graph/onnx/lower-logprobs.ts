/**
 * Lowers log-probabilities over a vocabulary to a loop over blocks of rows in the model, so that the logits of all
 * rows are never in memory together. The computation of logits, in float32 or integers, is a parameter.
 */
import { rowsPerBlock } from "./block-sizes.ts";
import type { DataType } from "../graph.ts";
import { codeProduct, integerProduct, ofCodes, rowCodes, signedNumbers } from "./integer-codes.ts";
import type { WeightCodes } from "./integer-codes.ts";
import { CONTRIB_DOMAIN, type OnnxModelWriter } from "./onnx-model.ts";

/** Returns the current block's rows of a tensor that has as many rows as x. */
type RowsOf = (of: string) => string;

/** The computation of a block's logits x · Wᵀ, and the parts of W that the gradients of the logits need. */
export interface Scores {
  readonly vocabularySize: number;
  /** Returns the block's rows of x [M, D], rounded if the product rounds them, and their logits [M, V]. */
  readonly of: (rows: RowsOf) => { readonly x: string; readonly scores: string };
  /** Returns the mean [M, D] of W's rows, weighted by probabilities [M, V]. */
  readonly mean: (probabilities: string) => string;
  /** Returns the rows [M, D] of W at ids [M]. */
  readonly weightsAt: (ids: string) => string;
}

/**
 * Computes logits in float32.
 *
 * @param weight float32 [V, D]
 */
export function floatScores(
  model: OnnxModelWriter,
  x: string,
  weight: string,
  vocabularySize: number,
): Scores {
  const attributes = { transA: 0, transB: 1, alpha: { float: 1 } };
  return {
    vocabularySize,
    of: (rows) => {
      const own = rows(x);
      return {
        x: own,
        scores: model.node("FusedMatMul", [own, weight], { domain: CONTRIB_DOMAIN, attributes }),
      };
    },
    mean: (probabilities) => model.node("MatMul", [probabilities, weight]),
    weightsAt: (ids) => model.node("Gather", [weight, ids]),
  };
}

/**
 * Computes logits by integer products. For the gradient, each probability is split into two 8-bit numbers, a coarse one
 * and its remainder. A distribution has few large values and a long tail, which 8 bits would lose.
 *
 * @param weight columns [D, V], the same codes as rows [V, D], and scales [V]
 */
export function int8Scores(
  model: OnnxModelWriter,
  x: string,
  {
    columns,
    rows,
    scales,
    dtype,
    vocabularySize,
  }: Readonly<Record<"columns" | "rows" | "scales", string>> & {
    readonly dtype: DataType;
    readonly vocabularySize: number;
  },
): Scores {
  const { codes, size } = rowCodes(model, x);
  return {
    vocabularySize,
    of: (rowsOf) => {
      const [ownCodes, ownSize] = [rowsOf(codes), rowsOf(size)];
      const scores = model.node("Mul", [
        codeProduct(model, ownCodes, { name: columns, dtype }, scales),
        ownSize,
      ]);
      return { x: model.node("Mul", [ofCodes(model, ownCodes), ownSize]), scores };
    },
    mean: (probabilities) =>
      int16Product(model, model.node("Mul", [probabilities, scales]), { name: rows, dtype }),
    weightsAt: (ids) => {
      const floats = signedNumbers(model, { name: model.node("Gather", [rows, ids]), dtype });
      const ownScales = model.node("Gather", [scales, ids]);
      const column = model.node("Unsqueeze", [ownScales, model.constant("int64", [1], [-1])]);
      return model.node("Mul", [floats, column]);
    },
  };
}

/**
 * Multiplies non-negative rows [M, V] by weights [V, D] in 8-bit codes; the result is [M, D]. Each row is rounded to
 * 65,025 steps up to its largest number.
 */
function int16Product(model: OnnxModelWriter, values: string, weights: WeightCodes): string {
  const last = model.constant("int64", [1], [-1]);
  const flat = model.constant("int64", [1], [-1]);
  const levels = model.constant("float32", [], [255]);
  const largest = model.node("ReduceMax", [values, last], { attributes: { keepdims: 1 } });
  const column = model.node("Max", [
    model.node("Div", [largest, levels]),
    model.constant("float32", [], [1e-30]),
  ]);
  const step = model.node("Reshape", [column, flat]);
  const byRow = { attributes: { axis: 0 } };
  const zeros = (zero: number): string =>
    model.node("Expand", [model.constant("uint8", [], [zero]), model.node("Shape", [step])]);
  const [noOffset, middle] = [zeros(0), zeros(128)];
  const coarse = model.node("QuantizeLinear", [values, step, noOffset], byRow);
  const rest = model.node("Sub", [values, model.node("DequantizeLinear", [coarse, step, noOffset], byRow)]);
  const fine = model.node("QuantizeLinear", [rest, model.node("Div", [step, levels]), middle], byRow);
  const one = model.constant("float32", [], [1]);
  const product = (codes: string, step: string, zero: number): string =>
    integerProduct(model, { codes, step, zero: model.constant("uint8", [], [zero]) }, weights, one);
  const whole = product(coarse, one, 0);
  const added = product(fine, model.constant("float32", [], [1 / 255]), 128);
  return model.node("Mul", [model.node("Add", [whole, added]), column]);
}

/**
 * Adds the log-probabilities of ids under logits.
 *
 * @param operands x [N, D], ids int64 [N]
 * @param wanted the optional results to compute
 * @returns names of the log-probabilities [N], the entropies [N] and the slopes [N, D] (gradients with respect to x);
 * "" for those not wanted
 */
export function linearLogprob(
  model: OnnxModelWriter,
  { x, ids, scores: made }: { readonly x: string; readonly ids: string; readonly scores: Scores },
  wanted: { readonly entropy: boolean; readonly slopes: boolean },
): readonly string[] {
  const int = (...values: readonly number[]): string => model.constant("int64", [values.length], values);
  const [zero, last] = [int(0), int(-1)];
  const length = model.node("Shape", [ids]);
  const rowCount = rowsPerBlock(made.vocabularySize);
  const size = int(rowCount);
  const count = model.node("Div", [model.node("Add", [length, int(rowCount - 1)]), size]);
  const none = { name: model.constant("float32", [0], []), dtype: "float32" as const };
  const noRows = { name: model.node("Slice", [x, zero, zero, zero]), dtype: "float32" as const };
  const initial = [none, ...(wanted.entropy ? [none] : []), ...(wanted.slopes ? [noRows] : [])];
  const results = model.loop(model.node("Squeeze", [count]), initial, (iteration, state) => {
    const start = model.node("Mul", [model.node("Unsqueeze", [iteration, zero]), size]);
    const end = model.node("Add", [start, size]);
    const rows = (from: string): string => model.node("Slice", [from, start, end, zero]);
    const reduced = (operation: string, of: string): string =>
      model.node(operation, [of, last], { attributes: { keepdims: 0 } });
    const { x: ownRows, scores } = made.of(rows);
    const probabilities = model.node("Softmax", [scores], { attributes: { axis: -1 } });
    // Logarithm of the softmax's divisor. Derived from the largest logit, where the result is most exact.
    const largest = model.node("Log", [reduced("ReduceMax", probabilities)]);
    const total = model.node("Sub", [reduced("ReduceMax", scores), largest]);
    const blockIds = rows(ids);
    const column = model.node("Unsqueeze", [blockIds, last]);
    const picked = model.node("GatherElements", [scores, column], { attributes: { axis: -1 } });
    const parts = [model.node("Sub", [model.node("Squeeze", [picked, last]), total])];
    const mean = wanted.slopes ? made.mean(probabilities) : "";
    if (wanted.entropy) {
      // The mean of the logits equals the logit of the mean row of weights, which is computed for the slopes anyway.
      const weighted = wanted.slopes ? [mean, ownRows] : [probabilities, scores];
      parts.push(model.node("Sub", [total, reduced("ReduceSum", model.node("Mul", weighted))]));
    }
    if (wanted.slopes) parts.push(model.node("Sub", [made.weightsAt(blockIds), mean]));
    return parts.map((part, index) =>
      model.node("Concat", [state[index] ?? "", part], { attributes: { axis: 0 } }),
    );
  });
  const [logprobs = "", ...others] = results;
  const entropies = wanted.entropy ? (others.shift() ?? "") : "";
  return [logprobs, entropies, others[0] ?? ""];
}
