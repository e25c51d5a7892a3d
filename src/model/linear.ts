// The one place that knows how the weights of a projection are stored and applied: y = x Wᵀ, its bias, and the low-rank
// product beside it. Which projections a model has is in parameters.ts.
import { present } from "../domain/assert.ts";
import type { GraphBuilder, MatMulOptions } from "../graph/builder.ts";
import { dimensionProduct } from "../graph/dimension.ts";
import type { Value } from "../graph/graph.ts";
import { loraNames, type Projection } from "./parameters.ts";

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

/**
 * Projections whose weights are float32 as they are.
 *
 * @param weights by name: `<path>.weight` [outputSize, inputSize] and, where there is one, `<path>.bias` [outputSize]
 */
export function floatLinear(
  builder: GraphBuilder,
  weights: ReadonlyMap<string, Value>,
  lora: DecoderLora | null,
): Linear {
  const weight = (name: string): Value => present(weights.get(name), name);
  return ({ path, hasBias }, x) => {
    const product = builder.matMul(x, weight(`${path}.weight`), { transposeB: true });
    const y = hasBias ? builder.add(product, weight(`${path}.bias`)) : product;
    const names = loraNames(path);
    const a = lora?.matrices.get(names.a);
    if (lora === null || a === undefined) return y;
    const b = present(lora.matrices.get(names.b), names.b);
    return builder.add(y, lowRankProduct(builder, x, { a, b, scale: lora.scale }));
  };
}

/**
 * scale · (x Aᵀ) Bᵀ. The factors 1/2 and 2 change no bit of the result, and keep a single row off the kernel's path for
 * one row, which sums in another order: a row is the same alone and among others.
 */
function lowRankProduct(
  builder: GraphBuilder,
  x: Value,
  { a, b, scale }: { readonly a: Value; readonly b: Value; readonly scale: number },
): Value {
  const reduce = { transposeB: true, alpha: scale / 2 };
  const reduced = a.shape.length === 3 ? inBlocks(builder, x, a, reduce) : builder.matMul(x, a, reduce);
  // A few numbers a token, and a pass over x to compute them again for a gradient.
  return builder.matMul(builder.kept(reduced), b, { transposeB: true, alpha: 2 });
}

/**
 * x Aᵀ for A in blocks of rows, [..., blocks · block size]. The product of a block has too few columns for the runtime to
 * share them out among threads, where the order of a row's sums would depend on how many rows there are. The product with
 * B needs no blocks up to rank 128: its sums are short enough to be done in one piece.
 */
function inBlocks(builder: GraphBuilder, x: Value, a: Value, options: MatMulOptions): Value {
  const [blocks, size, inputSize] = a.shape;
  const rows = x.shape.slice(0, -1);
  const count = dimensionProduct(rows);
  const products = builder.matMul(builder.reshape(x, [1, count, inputSize]), a, options);
  const byRow = builder.transpose(products, [1, 0, 2]);
  return builder.reshape(byRow, [...rows, dimensionProduct([blocks, size])]);
}
