// Products of integers: rows of numbers as bytes, multiplied with weights in 8-bit codes.
import type { DataType } from "../graph.ts";
import { CONTRIB_DOMAIN, dataTypeNumbers, type OnnxModelWriter } from "./onnx-model.ts";

/** What a byte of {@link rowCodes} counts in, as a part of its row's largest magnitude. */
const step = 1 / 127;

/** The byte that stands for 0. */
const zero = 128;

/** Each row of x as bytes around 128 and its largest magnitude, once for all products of the same operand. */
export function rowCodes(
  model: OnnxModelWriter,
  x: string,
): { readonly codes: string; readonly size: string } {
  const last = model.constant("int64", [1], [-1]);
  // A row of zeros is divided by 0: whatever codes that gives, they are multiplied by 0.
  const size = model.shared("ReduceMax", [model.shared("Abs", [x]), last], { keepdims: 1 });
  // The kernel for it has one step for all rows, which is therefore made the same for all.
  const codes = model.shared("QuantizeLinear", [model.shared("Div", [x, size]), ...stepAndZero(model)]);
  return { codes, size };
}

/** What the codes of {@link rowCodes} stand for, of rows that are 1 at most. */
export function ofCodes(model: OnnxModelWriter, codes: string): string {
  return model.node("DequantizeLinear", [codes, ...stepAndZero(model)]);
}

/** Weights [K, N] in 8-bit codes: int8, or uint8 around 128. */
export interface WeightCodes {
  readonly name: string;
  readonly dtype: DataType;
}

/** Multiplies the codes of rows whose magnitudes are at most 1 with weights [K, N] that have a scale for each column. */
export function codeProduct(
  model: OnnxModelWriter,
  codes: string,
  weight: WeightCodes,
  scales: string,
): string {
  const [stepName, zeroName] = stepAndZero(model);
  return integerProduct(model, { codes, step: stepName, zero: zeroName }, weight, scales);
}

/** Rows of codes times weights of codes, as float32 numbers. */
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

/** The signed numbers that codes of weights stand for, as float32. */
export function signedNumbers(model: OnnxModelWriter, { name, dtype }: WeightCodes): string {
  const numbers = model.node("Cast", [name], { attributes: { to: dataTypeNumbers.float32 } });
  return dtype === "uint8" ? model.node("Sub", [numbers, model.constant("float32", [], [zero])]) : numbers;
}

function stepAndZero(model: OnnxModelWriter): readonly [string, string] {
  return [model.constant("float32", [], [step]), model.constant("uint8", [], [zero])];
}
