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
export function integerProduct(
  model: OnnxModelWriter,
  { codes, step: stepName, zero: zeroName }: Readonly<Record<"codes" | "step" | "zero", string>>,
  weight: WeightCodes,
  scales: string,
): string {
  const weightZero = weight.dtype === "uint8" ? [model.constant("uint8", [], [zero])] : [];
  const operands = [codes, weight.name, stepName, scales, zeroName, ...weightZero];
  return model.node("MatMulIntegerToFloat", operands, { domain: CONTRIB_DOMAIN });
}

/** Converts codes of weights to signed float32 numbers. */
export function signedNumbers(model: OnnxModelWriter, { name, dtype }: WeightCodes): string {
  const numbers = model.node("Cast", [name], { attributes: { to: dataTypeNumbers.float32 } });
  return dtype === "uint8" ? model.node("Sub", [numbers, model.constant("float32", [], [zero])]) : numbers;
}

function stepAndZero(model: OnnxModelWriter): readonly [string, string] {
  return [model.constant("float32", [], [step]), model.constant("uint8", [], [zero])];
}
