/**
 * Lowers log-probabilities over a vocabulary to a loop over blocks of the vocabulary in the model, so that the logits
 * of all tokens are never in memory together. The computation of logits, in float32 or integers, is a parameter.
 */
import { tokensPerBlock } from "./block-sizes.ts";
import {
  codeProduct,
  leftCodes,
  leftProduct,
  ofCodes,
  roundedRows,
  rowCodes,
  signedNumbers,
} from "./integer-codes.ts";
import type { WeightCodes } from "./integer-codes.ts";
import { CONTRIB_DOMAIN, type OnnxModelWriter } from "./onnx-model.ts";

/** Start and end of a block of the vocabulary: int64 [1] each. The end may be after the vocabulary's. */
interface Block {
  readonly start: string;
  readonly end: string;
}

/** The computation of logits x · Wᵀ [N, V], and the parts of W that the gradients of the logits need. */
export interface Scores {
  readonly vocabularySize: number;
  /** The rows of x [N, D], rounded if the product rounds them. */
  readonly x: string;
  readonly of: (block: Block) => BlockScores;
  /** Returns the rows [N, D] of W at ids [N]. */
  readonly weightsAt: (ids: string) => string;
}

/** Logits of a block of C tokens of the vocabulary. */
export interface BlockScores {
  /** Logits [N, C]. */
  readonly logits: string;
  /**
   * Returns the sum [N, D] of the block's rows of W, weighted by probabilities [N, C] and then by a factor [N, 1] for
   * each row of the result.
   */
  readonly sum: (weights: Readonly<Record<"probabilities" | "factor", string>>) => string;
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
    x,
    of: (block) => {
      const rows = slice(model, weight, block, 0);
      return {
        logits: model.node("FusedMatMul", [x, rows], { domain: CONTRIB_DOMAIN, attributes }),
        sum: ({ probabilities, factor }) =>
          model.node("Mul", [model.node("MatMul", [probabilities, rows]), factor]),
      };
    },
    weightsAt: (ids) => model.node("Gather", [weight, ids]),
  };
}

/**
 * Computes logits by integer products. For the gradient, each probability is split into two 8-bit numbers, a coarse one
 * and its remainder. A distribution has few large values and a long tail, which 8 bits would lose.
 *
 * @param weight codes [D, V] and scales [V]
 */
export function int8Scores(
  model: OnnxModelWriter,
  x: string,
  {
    name,
    dtype,
    scales,
    vocabularySize,
  }: WeightCodes & { readonly scales: string; readonly vocabularySize: number },
): Scores {
  const { codes, size } = rowCodes(model, x);
  return {
    vocabularySize,
    x: model.node("Mul", [ofCodes(model, codes), size]),
    of: (block) => {
      const own = { name: slice(model, name, block, 1), dtype };
      const ownScales = slice(model, scales, block, 0);
      return {
        logits: model.node("Mul", [codeProduct(model, codes, own, ownScales), size]),
        sum: ({ probabilities, factor }) => {
          const values = model.node("Mul", [probabilities, ownScales]);
          return int16Product(model, { values, factor }, own);
        },
      };
    },
    weightsAt: (ids) => {
      const columns = model.node("Gather", [name, ids], { attributes: { axis: 1 } });
      const floats = signedNumbers(model, { name: columns, dtype });
      const weighted = model.node("Mul", [floats, model.node("Gather", [scales, ids])]);
      return model.node("Transpose", [weighted], { attributes: { perm: [1, 0] } });
    },
  };
}

function slice(model: OnnxModelWriter, from: string, { start, end }: Block, axis: number): string {
  return model.node("Slice", [from, start, end, model.constant("int64", [1], [axis])]);
}

/**
 * Multiplies non-negative values [M, C] by transposed weights [D, C] in 8-bit codes, and each row of the result by a
 * factor; the result is [M, D]. Each row is rounded to 65,025 steps up to its largest number.
 */
function int16Product(
  model: OnnxModelWriter,
  { values, factor }: Readonly<Record<"values" | "factor", string>>,
  weights: WeightCodes,
): string {
  const last = model.constant("int64", [1], [-1]);
  const levels = model.constant("float32", [], [255]);
  const largest = model.node("ReduceMax", [values, last], { attributes: { keepdims: 0 } });
  const step = model.node("Max", [
    model.node("Div", [largest, levels]),
    model.constant("float32", [], [1e-30]),
  ]);
  const fineStep = model.node("Div", [step, levels]);
  const coarse = roundedRows(model, { values, steps: step, least: 0 }, weights);
  const known = model.node("DequantizeLinear", [coarse.codes, step, coarse.zeros], {
    attributes: { axis: 0 },
  });
  const rest = model.node("Sub", [values, known]);
  const fine = roundedRows(model, { values: rest, steps: fineStep, least: -128 }, weights);
  const left = leftCodes(model, weights, coarse.codes);
  const factors = model.node("Reshape", [factor, last]);
  const product = (rows: typeof coarse, steps: string): string =>
    leftProduct(model, left, rows, model.node("Mul", [steps, factors]));
  const sum = model.node("Add", [product(coarse, step), product(fine, fineStep)]);
  return model.node("Transpose", [sum], { attributes: { perm: [1, 0] } });
}

/**
 * Adds the log-probabilities of ids under logits. For each block of the vocabulary, computes the logarithm of the sum
 * of its exponentials, and combines it with those of earlier blocks.
 *
 * @param operands ids int64 [N]
 * @param wanted the optional results to compute
 * @returns names of the log-probabilities [N], the entropies [N] and the slopes [N, D] (gradients with respect to x);
 * "" for those not wanted
 */
export function linearLogprob(
  model: OnnxModelWriter,
  { ids, scores: made }: { readonly ids: string; readonly scores: Scores },
  wanted: { readonly entropy: boolean; readonly slopes: boolean },
): readonly string[] {
  const int = (...values: readonly number[]): string => model.constant("int64", [values.length], values);
  const [zero, last] = [int(0), int(-1)];
  const size = int(tokensPerBlock);
  const count = model.constant("int64", [], [Math.ceil(made.vocabularySize / tokensPerBlock)]);
  const reduced = (operation: string, of: string): string =>
    model.node(operation, [of, last], { attributes: { keepdims: 1 } });
  const column = model.node("Unsqueeze", [ids, last]);
  const filled = (value: number, like: string): { name: string; dtype: "float32" } => {
    const name = model.node("Expand", [model.constant("float32", [], [value]), model.node("Shape", [like])]);
    return { name, dtype: "float32" };
  };
  // Below any logit, but finite.
  const nothing = filled(-1e30, column);
  const none = filled(0, column);
  const noSum = wanted.slopes ? [filled(0, made.x)] : wanted.entropy ? [none] : [];
  const results = model.loop(
    count,
    [nothing, none, ...noSum],
    (iteration, [total = "", picked = "", sum]) => {
      const start = model.node("Mul", [model.node("Unsqueeze", [iteration, zero]), size]);
      const block = { start, end: model.node("Add", [start, size]) };
      const { logits: scores, sum: sumOf } = made.of(block);
      const probabilities = model.node("Softmax", [scores], { attributes: { axis: -1 } });
      // Logarithm of the softmax's divisor. Derived from the largest logit, where the result is most exact.
      const largest = reduced("ReduceMax", probabilities);
      const own = model.node("Sub", [reduced("ReduceMax", scores), model.node("Log", [largest])]);
      const both = logarithmOfSum(model, total, own);
      const inBlock = model.node("Sub", [column, start]);
      const lastId = model.node("Sub", [model.node("Shape", [scores], { attributes: { start: 1 } }), int(1)]);
      // An id outside the block reads any logit, which is not used.
      const inside = model.node("Max", [model.node("Min", [inBlock, lastId]), zero]);
      const found = model.node("GatherElements", [scores, inside], { attributes: { axis: -1 } });
      const next = [both, model.node("Where", [model.node("Equal", [inBlock, inside]), found, picked])];
      if (sum === undefined) return next;
      const [before, factor] = [total, own].map((part) =>
        model.node("Exp", [model.node("Sub", [part, both])]),
      );
      const added = wanted.slopes
        ? sumOf({ probabilities, factor })
        : model.node("Mul", [reduced("ReduceSum", model.node("Mul", [probabilities, scores])), factor]);
      return [...next, model.node("Add", [model.node("Mul", [sum, before]), added])];
    },
  );
  const [total = "", picked = "", mean = ""] = results;
  const flat = (name: string): string => model.node("Squeeze", [name, last]);
  const logprobs = flat(model.node("Sub", [picked, total]));
  // The mean of the logits equals the logit of the mean row of weights, which is computed for the slopes anyway.
  const meanLogit = wanted.slopes ? reduced("ReduceSum", model.node("Mul", [mean, made.x])) : mean;
  const entropies = wanted.entropy ? flat(model.node("Sub", [total, meanLogit])) : "";
  return [logprobs, entropies, wanted.slopes ? model.node("Sub", [made.weightsAt(ids), mean]) : ""];
}

/** Returns log(exp(a) + exp(b)). */
function logarithmOfSum(model: OnnxModelWriter, a: string, b: string): string {
  const largest = model.node("Max", [a, b]);
  const [first, second] = [a, b].map((part) => model.node("Exp", [model.node("Sub", [part, largest])]));
  return model.node("Add", [largest, model.node("Log", [model.node("Add", [first, second])])]);
}
