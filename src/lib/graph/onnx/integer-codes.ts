// Integer products: quantizes rows to bytes and multiplies them with weights in 8-bit codes.
import type { DataType } from "../graph.ts";
import { CONTRIB_DOMAIN, dataTypeNumbers, type OnnxModelWriter } from "./onnx-model.ts";

/** Step size of {@link rowCodes}, relative to the row's largest magnitude. */
const step = 1 / 127;

/** Code that stands for 0. */
const zero = 128;

/**
 * Quantizes each row of x to bytes around 128, scaled by the row's largest magnitude. All products of x with 8-bit
 * weights share the result.
 */
export function rowCodes(
  model: OnnxModelWriter,
  x: string,
): { readonly codes: string; readonly size: string } {
  const last = model.constant("int64", [1], [-1]);
  // Divides by 0 if a row is zero. The resulting codes do not matter, because they are multiplied by the row's size, 0.
  const size = model.shared("ReduceMax", [model.shared("Abs", [x]), last], { keepdims: 1 });
  // The kernel uses one step for all rows, so rows are normalized first.
  const codes = model.shared("QuantizeLinear", [model.shared("Div", [x, size]), ...stepAndZero(model)]);
  return { codes, size };
}

/** Dequantizes the codes of {@link rowCodes} to rows whose largest magnitude is 1. */
export function ofCodes(model: OnnxModelWriter, codes: string): string {
  return model.node("DequantizeLinear", [codes, ...stepAndZero(model)]);
}

/** Weights [K, N] in 8-bit codes: int8, or uint8 around 128. */
export interface WeightCodes {
  readonly name: string;
  readonly dtype: DataType;
}

/** Multiplies row codes by weights [K, N] with a scale per column. The row codes stand for magnitudes of at most 1. */
export function codeProduct(
  model: OnnxModelWriter,
  codes: string,
  weight: WeightCodes,
  scales: string,
): string {
  const [stepName, zeroName] = stepAndZero(model);
  return integerProduct(model, { codes, step: stepName, zero: zeroName }, weight, scales);
}

/** Multiplies codes of rows by codes of weights; the result is float32. */
function integerProduct(
  model: OnnxModelWriter,
  { codes, step: stepName, zero: zeroName }: Readonly<Record<"codes" | "step" | "zero", string>>,
  weight: WeightCodes,
  scales: string,
): string {
  const weightZero = weight.dtype === "uint8" ? [model.constant("uint8", [], [zero])] : [];
  const operands = [codes, weight.name, stepName, scales, zeroName, ...weightZero];
  return model.node("MatMulIntegerToFloat", operands, { domain: CONTRIB_DOMAIN });
}

/**
 * Multiplies rows of x [M, N], rounded to 8 bits, by transposed weights [K, N]; the result is [M, K]. The scales [N] of
 * the weights are applied to x.
 */
export function backProduct(model: OnnxModelWriter, x: string, weight: WeightCodes, scales: string): string {
  const values = model.node("Mul", [x, scales]);
  const last = model.constant("int64", [1], [-1]);
  const size = model.node("ReduceMax", [model.node("Abs", [values]), last], { attributes: { keepdims: 0 } });
  const steps = model.node("Mul", [size, model.constant("float32", [], [step])]);
  // Divides by 0 if a row is zero; see `rowCodes`.
  const rounded = roundedRows(model, { values, steps, least: -128 }, weight);
  const product = leftProduct(model, leftCodes(model, weight, rounded.codes), rounded, steps);
  return model.node("Transpose", [product], { attributes: { perm: [1, 0] } });
}

/** Rows in 8-bit codes, whose zero stands for 0. */
export interface RoundedRows {
  readonly codes: string;
  /** Zero of each row, and of all rows. */
  readonly zeros: string;
  readonly zero: string;
}

/**
 * Rounds rows of values [M, C] to 256 steps, one step size per row. The codes have the type of the weights with which
 * {@link leftProduct} multiplies them.
 *
 * @param least smallest multiple of the step that a code can stand for: 0 or -128
 */
export function roundedRows(
  model: OnnxModelWriter,
  { values, steps, least }: { readonly values: string; readonly steps: string; readonly least: 0 | -128 },
  { dtype }: WeightCodes,
): RoundedRows {
  const zeroCode = (dtype === "uint8" ? 0 : -zero) - least;
  const zeroName = model.constant(dtype, [], [zeroCode]);
  const zeros = model.node("Expand", [zeroName, model.node("Shape", [steps])]);
  const codes = model.node("QuantizeLinear", [values, steps, zeros], { attributes: { axis: 0 } });
  return { codes, zeros, zero: zeroName };
}

/**
 * Returns codes of weights as the left operand of {@link leftProduct}, whose left operand is unsigned.
 *
 * @param signal any value from which the product's other operand is computed. Without it, the runtime could convert the
 * weights of all products before it computes the first of them.
 */
export function leftCodes(model: OnnxModelWriter, { name, dtype }: WeightCodes, signal: string): string {
  if (dtype === "uint8") return name;
  const noAxes = model.node("Shape", [signal], { attributes: { start: 0, end: 0 } });
  const offset = model.node("Expand", [model.constant("int8", [], [-zero]), noAxes]);
  // The sum of a negative code wraps around, so that the bits of the sum are those of the unsigned code.
  const shifted = model.node("Add", [name, offset]);
  return model.node("Cast", [shifted], { attributes: { to: dataTypeNumbers.uint8 } });
}

/**
 * Multiplies weights [K, C] by transposed rows [M, C]; the result is [K, M]. As the left operand, the weights need not be
 * transposed.
 *
 * @param weights result of {@link leftCodes}
 * @param steps factor [M] of each row's results
 */
export function leftProduct(
  model: OnnxModelWriter,
  weights: string,
  { codes, zero: codeZero }: RoundedRows,
  steps: string,
): string {
  const columns = model.node("Transpose", [codes], { attributes: { perm: [1, 0] } });
  const [one, weightZero] = [model.constant("float32", [], [1]), model.constant("uint8", [], [zero])];
  return model.node("MatMulIntegerToFloat", [weights, columns, one, steps, weightZero, codeZero], {
    domain: CONTRIB_DOMAIN,
  });
}

/** Converts codes of weights to signed float32 numbers. */
export function signedNumbers(model: OnnxModelWriter, { name, dtype }: WeightCodes): string {
  const numbers = model.node("Cast", [name], { attributes: { to: dataTypeNumbers.float32 } });
  return dtype === "uint8" ? model.node("Sub", [numbers, model.constant("float32", [], [zero])]) : numbers;
}

function stepAndZero(model: OnnxModelWriter): readonly [string, string] {
  return [model.constant("float32", [], [step]), model.constant("uint8", [], [zero])];
}
