// Products of integers: rows of numbers as bytes, and what the kernel makes of them and of weights of 8 bits.
import { CONTRIB_DOMAIN, type OnnxModelWriter } from "./onnx-model.ts";

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

/** The codes of rows that are 1 at most times a weight int8 [K, N] whose columns have scales. */
export function codeProduct(model: OnnxModelWriter, codes: string, weight: string, scales: string): string {
  const [stepName, zeroName] = stepAndZero(model);
  return model.node("MatMulIntegerToFloat", [codes, weight, stepName, scales, zeroName], {
    domain: CONTRIB_DOMAIN,
  });
}

function stepAndZero(model: OnnxModelWriter): readonly [string, string] {
  return [model.constant("float32", [], [step]), model.constant("uint8", [], [zero])];
}
