// The one place that knows how stored weights are applied: the rows of the embedding, and projections, y = x Wᵀ with its bias
// and the low-rank product beside it. Which projections a model has is in parameters.ts.
import { assert, present, unreachable } from "../../base/domain/assert.ts";
import type { GraphBuilder, MatMulOptions } from "../../lib/graph/builder.ts";
import { dimensionProduct } from "../../lib/graph/dimension.ts";
import type { Value } from "../../lib/graph/graph.ts";
import { dimensionAt } from "../../lib/graph/shape-rules.ts";
import { embeddingName, loraNames, type Projection } from "./parameters.ts";
import { rotationMatrix, rotationSize } from "./quantized/rotation.ts";
import {
  blockSize,
  isCodes,
  partNames,
  type WeightForm,
  type WeightForms,
} from "./quantized/weight-forms.ts";

/** The low-rank matrices of a graph. */
export interface DecoderLora {
  /**
   * By `loraNames`; projections that are absent are not adapted. A is [rank, inputSize] or, in blocks of its rows,
   * [blocks, block size, inputSize]; B is [outputSize, rank].
   */
  readonly matrices: ReadonlyMap<string, Value>;
  /** Multiplies the low-rank product; 1 where it is folded into B. */
  readonly scale: number;
}

/** Applies a projection to x [..., inputSize]; the result is [..., outputSize]. */
export type Linear = (projection: Projection, x: Value) => Value;

/** A model's weights as a graph has declared them. */
export interface DeclaredWeights {
  /** Every part of every weight, by `weightParts`; biases are called `<path>.bias`. */
  readonly values: ReadonlyMap<string, Value>;
  readonly forms: WeightForms;
}

/** Projections over weights in any form; low-rank products beside them are float32. */
export function storedLinear(
  builder: GraphBuilder,
  weights: DeclaredWeights,
  lora: DecoderLora | null,
): Linear {
  const weighted = ({ path, hasBias }: Projection, x: Value): Value => {
    const product = weightProduct(builder, weights, `${path}.weight`, x);
    const bias = `${path}.bias`;
    return hasBias ? builder.add(product, present(weights.values.get(bias), bias)) : product;
  };
  return (projection, x) => {
    if (lora === null || !lora.matrices.has(loraNames(projection.path).a)) return weighted(projection, x);
    const rows = asRows(builder, x);
    const y = addLowRank(builder, projection, { x: rows, y: weighted(projection, rows) }, lora);
    return builder.reshape(y, [...x.shape.slice(0, -1), dimensionAt(y.shape, -1)]);
  };
}

/** x [..., K] as a matrix [N, K]. */
export function asRows(builder: GraphBuilder, x: Value): Value {
  return builder.reshape(x, [dimensionProduct(x.shape.slice(0, -1)), dimensionAt(x.shape, -1)]);
}

/**
 * What a projection gives with its low-rank product, where it is adapted.
 *
 * @param x [N, inputSize], what it is applied to; y [N, outputSize], what the weights give for it
 */
export function addLowRank(
  builder: GraphBuilder,
  { path }: Projection,
  { x, y }: { readonly x: Value; readonly y: Value },
  { matrices, scale }: DecoderLora,
): Value {
  const names = loraNames(path);
  const a = matrices.get(names.a);
  if (a === undefined) return y;
  const b = present(matrices.get(names.b), names.b);
  return addLowRankProduct(builder, { x, y }, { a, b, scale });
}

/** The embeddings of tokens of any shape, [...tokens, D]. */
export function embeddingRows(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  tokens: Value,
): Value {
  const part = (name: string): Value => present(values.get(name), name);
  const form = forms.get(embeddingName) ?? "float32";
  if (form === "float32") return builder.gatherRows(part(embeddingName), tokens);
  assert(isCodes(form), "an embedding has at least 8 bits");
  const { rows, scales } = partNames(embeddingName);
  const codes = signedCodes(builder, builder.gatherRows(part(rows), tokens), form);
  const rowScales = builder.gatherRows(part(scales), tokens);
  return rotate(builder, builder.multiply(codes, asColumn(builder, rowScales)));
}

/** Codes of 8 bits as float32; unsigned ones count from 128. */
function signedCodes(builder: GraphBuilder, codes: Value, form: WeightForm): Value {
  const stored = builder.cast(codes, "float32");
  return form === "uint8" ? builder.subtract(stored, 128) : stored;
}

/**
 * Natural-log probabilities of tokens under the scores that the output projection gives, and the entropies.
 *
 * @param x what it is applied to, [N, D]
 * @param targets int64 [N]
 * @param cap bounds the scores, see `ModelConfig.logitCap`
 */
export function outputLogprobs(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  { path }: Projection,
  { x, targets, cap }: { readonly x: Value; readonly targets: Value; readonly cap: number | null },
): { readonly logprobs: Value; readonly entropies: Value } {
  const name = `${path}.weight`;
  const part = (partName: string): Value => present(values.get(partName), partName);
  const form = forms.get(name) ?? "float32";
  if (cap !== null) return cappedLogprobs(builder, { values, forms }, name, { x, targets, cap });
  if (form === "float32") return builder.linearLogprob(x, part(name), targets);
  assert(isCodes(form), "an output projection has at least 8 bits");
  const { columns, rows, scales } = partNames(name);
  const weight = { columns: part(columns), rows: part(rows), scales: part(scales) };
  return builder.int8LinearLogprob(rotate(builder, x), weight, targets);
}

/** Returns cap · tanh(x / cap), or x itself without a cap; see `ModelConfig.logitCap`. */
export function capped(builder: GraphBuilder, x: Value, cap: number | null): Value {
  return cap === null ? x : builder.multiply(builder.tanh(builder.multiply(x, 1 / cap)), cap);
}

/** As {@link outputLogprobs}, of all scores at once: no fused operation has a bound. */
function cappedLogprobs(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  name: string,
  { x, targets, cap }: { readonly x: Value; readonly targets: Value; readonly cap: number },
): { readonly logprobs: Value; readonly entropies: Value } {
  const part = (partName: string): Value => present(values.get(partName), partName);
  const form = forms.get(name) ?? "float32";
  const { rows, scales } = partNames(name);
  const isFloat = form === "float32";
  const weight = isFloat
    ? part(name)
    : builder.multiply(signedCodes(builder, part(rows), form), asColumn(builder, part(scales)));
  const scores = builder.matMul(isFloat ? x : rotate(builder, x), weight, { transposeB: true });
  const bounded = capped(builder, scores, cap);
  const logprobs = builder.logSoftmax(bounded);
  const products = builder.multiply(builder.exp(logprobs), logprobs);
  return {
    logprobs: builder.tokenLogprob(bounded, targets),
    entropies: builder.negate(builder.reduceSum(products, [-1])),
  };
}

function asColumn(builder: GraphBuilder, x: Value): Value {
  return builder.reshape(x, [...x.shape, 1]);
}

/** x H, in blocks of its last axis; twice is x again. */
function rotate(builder: GraphBuilder, x: Value): Value {
  const width = dimensionAt(x.shape, -1);
  assert(typeof width === "number", "the width of an operand is known");
  const size = rotationSize(width);
  if (size === 1) return x;
  const inBlocks = builder.reshape(x, [...x.shape.slice(0, -1), width / size, size]);
  const matrix = builder.constant("float32", [size, size], rotationMatrix(size));
  return builder.reshape(builder.matMul(inBlocks, matrix), x.shape);
}

/** x Wᵀ, W without its bias. */
function weightProduct(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  name: string,
  x: Value,
): Value {
  const part = (partName: string): Value => present(values.get(partName), partName);
  const form = forms.get(name) ?? "float32";
  const names = partNames(name);
  switch (form) {
    case "float32":
      return builder.matMul(x, part(name), { transposeB: true });
    case "int8":
    case "uint8":
      return builder.int8MatMul(
        rotate(builder, x),
        part(names.columns),
        part(names.scales),
        values.has(names.back)
          ? { source: x, weight: part(names.back), scales: part(names.backScales) }
          : undefined,
      );
    case "int4":
      return builder.int4MatMul(x, part(names.codes), part(names.blockScales));
    case "int4-offset":
      return builder.add(
        builder.int4MatMul(x, part(names.codes), part(names.blockScales)),
        offsetProduct(builder, x, part(names.offsets)),
      );
    default:
      return unreachable(form);
  }
}

/**
 * What the offsets of blocks add to a product: each times the sum of the block's numbers of x. The factors change no bit, as
 * in {@link lowRankProduct}.
 *
 * @param offsets [K/32, N]
 */
function offsetProduct(builder: GraphBuilder, x: Value, offsets: Value): Value {
  const blocks = dimensionAt(offsets.shape, 0);
  const inBlocks = builder.reshape(x, [...x.shape.slice(0, -1), blocks, blockSize]);
  const sums = builder.multiply(builder.reduceSum(inBlocks, [-1]), 2);
  return builder.matMul(sums, offsets, { alpha: 0.5 });
}

/**
 * y + scale · (x Aᵀ) Bᵀ of matrices x [N, inputSize] and y [N, outputSize]. The factors 1/2 and 2 change no bit of the
 * result, and keep a single row off the kernel's path for one row, which sums in another order: a row is the same alone and
 * among others.
 */
function addLowRankProduct(
  builder: GraphBuilder,
  { x, y }: { readonly x: Value; readonly y: Value },
  { a, b, scale }: { readonly a: Value; readonly b: Value; readonly scale: number },
): Value {
  const reduce = { transposeB: true, alpha: scale / 2 };
  const reduced = a.shape.length === 3 ? inBlocks(builder, x, a, reduce) : builder.matMul(x, a, reduce);
  // A few numbers a token, and a pass over x to compute them again for a gradient.
  return builder.gemm(builder.kept(reduced), b, y, { alpha: 2 });
}

/**
 * x Aᵀ of x [N, inputSize] for A in blocks of rows, [N, blocks · block size]. The product of a block has too few columns
 * for the runtime to share them out among threads, where the order of a row's sums would depend on how many rows there are.
 * The product with B needs no blocks up to rank 256: its sums are short enough to be done in the same pieces.
 */
function inBlocks(builder: GraphBuilder, x: Value, a: Value, options: MatMulOptions): Value {
  const [blocks, size] = a.shape;
  const [count] = x.shape;
  const products = builder.matMul(builder.reshape(x, [1, ...x.shape]), a, options);
  return builder.reshape(builder.transpose(products, [1, 0, 2]), [count, dimensionProduct([blocks, size])]);
}
