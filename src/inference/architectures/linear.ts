// Applies stored weights: looks up rows of the embedding, and computes projections y = x Wᵀ with bias and low-rank
// product. Only this module knows how each form of a weight is applied; `parameters` lists a model's projections.
import { assert, present, unreachable } from "../../base/domain/assert.ts";
import type { GraphBuilder, MatMulOptions } from "../../lib/graph/builder.ts";
import { dimensionProduct } from "../../lib/graph/dimension.ts";
import type { Value } from "../../lib/graph/graph.ts";
import { dimensionAt } from "../../lib/graph/shape-rules.ts";
import { type ExpertLinear, tileRows, type TokenCount } from "./experts/mixture.ts";
import { embeddingName, loraNames, type Projection } from "./parameters.ts";
import { rotationMatrix, rotationSize } from "./quantized/rotation.ts";
import {
  blockSize,
  isCodes,
  partNames,
  type WeightForm,
  type WeightForms,
} from "./quantized/weight-forms.ts";

/** An adapter's low-rank matrices (LoRA) as values of a graph. */
export interface DecoderLora {
  /**
   * Matrices by the names of `loraNames`; a projection without matrices is not adapted. A is [rank, inputSize], or
   * [blocks, block size, inputSize] if its rows are divided into blocks. B is [outputSize, rank].
   */
  readonly matrices: ReadonlyMap<string, Value>;
  /** Factor of the low-rank product; 1 if the factor is already multiplied into B. */
  readonly scale: number;
}

/** Applies a projection to x [..., inputSize]; the result is [..., outputSize]. */
export type Linear = (projection: Projection, x: Value) => Value;

/** A model's weights as declared in a graph. */
export interface DeclaredWeights {
  /** All tensors of all weights, named as in `weightParts`; biases are named `<path>.bias`. */
  readonly values: ReadonlyMap<string, Value>;
  readonly forms: WeightForms;
}

/**
 * Returns a function that applies a projection in any weight form. Low-rank products are always computed in float32.
 */
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

/** Returns a function that multiplies each row by the weight of the expert chosen for that row. */
export function storedExpertLinear(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  count: TokenCount,
): ExpertLinear {
  const part = (name: string): Value => present(values.get(name), name);
  const { float32, codes } = tileRows[count];
  return (name, x, experts) => {
    const form = forms.get(name) ?? "float32";
    if (form === "float32") {
      const options = { tileRows: float32, isTransposed: false };
      return builder.expertMatMul(x, experts, [part(name)], options);
    }
    assert(isCodes(form), "the weights of experts have at least 8 bits");
    const { columns, scales } = partNames(name);
    const options = { tileRows: codes, isTransposed: false };
    return builder.expertMatMul(rotate(builder, x), experts, [part(columns), part(scales)], options);
  };
}

/** Reshapes x [..., K] to a matrix [N, K]. */
export function asRows(builder: GraphBuilder, x: Value): Value {
  return builder.reshape(x, [dimensionProduct(x.shape.slice(0, -1)), dimensionAt(x.shape, -1)]);
}

/**
 * Adds the low-rank product of a projection to its result; returns the result unchanged if the projection is not
 * adapted.
 *
 * @param x [N, inputSize], input of the projection; y [N, outputSize], its result without the adapter
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

/**
 * Returns the embeddings of a tensor of token ids: [...tokens, D].
 *
 * @param table name of the embedding's weight
 */
export function embeddingRows(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  tokens: Value,
  table = embeddingName,
): Value {
  const part = (name: string): Value => present(values.get(name), name);
  const form = forms.get(table) ?? "float32";
  if (form === "float32") return builder.gatherRows(part(table), tokens);
  assert(isCodes(form), "an embedding has at least 8 bits");
  const { rows, columns, scales } = partNames(table);
  // A tied embedding may be declared only in the form for products.
  const found = values.has(rows)
    ? builder.gatherRows(part(rows), tokens)
    : builder.gatherColumns(part(columns), tokens);
  const codes = signedCodes(builder, found, form);
  const rowScales = builder.gatherRows(part(scales), tokens);
  return rotate(builder, builder.multiply(codes, asColumn(builder, rowScales)));
}

/** Converts 8-bit codes to float32. Unsigned codes are stored with 128 added, so 128 is subtracted from them. */
function signedCodes(builder: GraphBuilder, codes: Value, form: WeightForm): Value {
  const stored = builder.cast(codes, "float32");
  return form === "uint8" ? builder.subtract(stored, 128) : stored;
}

/**
 * Computes the natural-log probabilities of target tokens, and the entropies of their distributions, from the output
 * projection's logits.
 *
 * @param x input of the output projection, [N, D]
 * @param targets token ids, int64 [N]
 * @param cap soft cap of the logits, see `ModelConfig.logitCap`
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
  const { columns, scales } = partNames(name);
  const weight = { codes: part(columns), scales: part(scales) };
  return builder.int8LinearLogprob(rotate(builder, x), weight, targets);
}

/** Returns cap · tanh(x / cap), or x unchanged if the cap is null; see `ModelConfig.logitCap`. */
export function capped(builder: GraphBuilder, x: Value, cap: number | null): Value {
  return cap === null ? x : builder.multiply(builder.tanh(builder.multiply(x, 1 / cap)), cap);
}

/** Like {@link outputLogprobs}, but needs memory for all logits, because no fused operation supports a cap. */
function cappedLogprobs(
  builder: GraphBuilder,
  { values, forms }: DeclaredWeights,
  name: string,
  { x, targets, cap }: { readonly x: Value; readonly targets: Value; readonly cap: number },
): { readonly logprobs: Value; readonly entropies: Value } {
  const part = (partName: string): Value => present(values.get(partName), partName);
  const form = forms.get(name) ?? "float32";
  const { columns, scales } = partNames(name);
  const isFloat = form === "float32";
  const weight = isFloat
    ? part(name)
    : builder.multiply(signedCodes(builder, part(columns), form), part(scales));
  const scores = builder.matMul(isFloat ? x : rotate(builder, x), weight, { transposeB: isFloat });
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

/** Returns x H, where the matrix H rotates each block of the last axis; H is its own inverse. */
function rotate(builder: GraphBuilder, x: Value): Value {
  const width = dimensionAt(x.shape, -1);
  assert(typeof width === "number", "the width of an operand is known");
  const size = rotationSize(width);
  if (size === 1) return x;
  const inBlocks = builder.reshape(x, [...x.shape.slice(0, -1), width / size, size]);
  const matrix = builder.constant("float32", [size, size], rotationMatrix(size));
  return builder.reshape(builder.matMul(inBlocks, matrix), x.shape);
}

/** Returns the product x Wᵀ without the bias. */
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
      return builder.int8MatMul(rotate(builder, x), part(names.columns), part(names.scales));
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
 * Returns the summand of x Wᵀ that comes from the offsets of a 4-bit weight's blocks: each offset times the sum of its
 * block's entries in x. The factors 2 and 1/2 have the same reason as in {@link addLowRankProduct}.
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
 * Returns y + scale · (x Aᵀ) Bᵀ for matrices x [N, inputSize] and y [N, outputSize]. The factors 1/2 and 2 change no
 * bit of the result, but keep the runtime from using its kernel for single rows. That kernel sums in another order,
 * which would make a row's result depend on the size of its batch.
 */
function addLowRankProduct(
  builder: GraphBuilder,
  { x, y }: { readonly x: Value; readonly y: Value },
  { a, b, scale }: { readonly a: Value; readonly b: Value; readonly scale: number },
): Value {
  const reduce = { transposeB: true, alpha: scale / 2 };
  const reduced = a.shape.length === 3 ? inBlocks(builder, x, a, reduce) : builder.matMul(x, a, reduce);
  // `reduced` is kept for the gradient because it is small; recomputing it would take a pass over x.
  return builder.gemm(builder.kept(reduced), b, y, { alpha: 2 });
}

/**
 * Returns x Aᵀ, [N, blocks · block size], for x [N, inputSize] and A [blocks, block size, inputSize]. Each block has so
 * few rows that the runtime does not split its product among threads; a split would make the order of sums depend on N.
 * The product with B needs no blocks up to rank 256, because the runtime groups such short sums in the same way for
 * every N.
 */
function inBlocks(builder: GraphBuilder, x: Value, a: Value, options: MatMulOptions): Value {
  const [blocks, size] = a.shape;
  const [count] = x.shape;
  const products = builder.matMul(builder.reshape(x, [1, ...x.shape]), a, options);
  return builder.reshape(builder.transpose(products, [1, 0, 2]), [count, dimensionProduct([blocks, size])]);
}
