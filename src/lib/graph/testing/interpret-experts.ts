/** Defines products with the weights of experts, for the reference interpreter. */
import type { DataType } from "../graph.ts";
import { denseFrom, elementAt, mapRows, type Dense } from "./dense.ts";

interface ExpertOptions {
  /** Type of the weights or codes. */
  readonly dtype: DataType;
  readonly isTransposed: boolean;
  /** Rounds a row of x as a product with 8-bit codes does. */
  readonly round: (row: Float64Array) => Float64Array;
}

/** Multiplies each row of x with the weight of its own expert. */
export function expertProducts(
  [x, experts, weight, scales]: readonly Dense[],
  { dtype, isTransposed, round }: ExpertOptions,
): Dense {
  const isFloat = dtype === "float32";
  const rows = isFloat || isTransposed ? x : mapRows(x, round);
  const [, second, third] = weight.dims;
  const [N, K] = isFloat ? [second, third] : [third, second];
  const [inner, outer] = isTransposed ? [N, K] : [K, N];
  const zero = dtype === "uint8" ? 128 : 0;
  const weightAt = (expert: number, n: number, k: number): number =>
    isFloat
      ? elementAt(weight, [expert, n, k])
      : (elementAt(weight, [expert, k, n]) - zero) * elementAt(scales, [expert, n]);
  return denseFrom([x.dims[0], outer], ([pair = 0, column = 0]) => {
    const expert = elementAt(experts, [pair]);
    let sum = 0;
    for (let k = 0; k < inner; k++) {
      const factor = isTransposed ? weightAt(expert, k, column) : weightAt(expert, column, k);
      sum += elementAt(rows, [pair, k]) * factor;
    }
    return sum;
  });
}
