// Chooses the type of each tensor in a written GGUF file, by the rules of llama.cpp's converter (conversion/base.py)
// and, for Q4_0, of its quantizer (llama-quant.cpp).
import { float32ToBfloat16, float32ToFloat16 } from "../../half-floats.ts";
import type { StoredType } from "../../stored-tensor.ts";
import { encodedBlockSize, quantize } from "./encode-blocks.ts";
import { quantizeSixBits, sixBitBlockSize } from "./encode-six-bits.ts";

/** Types that a user can choose for the matrices of a file. */
export const chosenTypes = ["F32", "F16", "BF16", "Q8_0", "Q4_0"] as const;

export type ChosenType = (typeof chosenTypes)[number];

/** Types in which Hone writes tensors. */
export type EncodedType = ChosenType | "Q6_K";

/** Numbers of the choices in `general.file_type`. */
export const fileTypeNumbers: Readonly<Record<ChosenType, number>> = {
  F32: 0,
  F16: 1,
  Q4_0: 2,
  Q8_0: 7,
  BF16: 32,
};

/**
 * Parts of the names of matrices that always stay in float32, because they are small and rounding them costs much
 * accuracy.
 */
const wholeParts =
  /(?:_norm\.weight$|\.(?:ffn_gate_inp|ffn_gate_inp_shexp|ssm_conv1d|shortconv\.conv)\.weight$|(?<!\.weight)$)/;

/** Matrices that llama.cpp's converter converts, but its quantizer leaves as they are. */
const leftParts = /^per_layer_model_proj\.weight$/;

/** Returns the type of a tensor in a file whose matrices have the type `chosen`. */
export function writtenTypeOf(
  { name, shape }: { readonly name: string; readonly shape: readonly number[] },
  { chosen, isTied }: { readonly chosen: ChosenType; readonly isTied: boolean },
): EncodedType {
  if (shape.length <= 1 || wholeParts.test(name)) return "F32";
  if (chosen === "F32" || chosen === "F16" || chosen === "BF16") return chosen;
  if (leftParts.test(name) && chosen === "Q4_0") return "F16";
  const width = shape.at(-1) ?? 1;
  if (width % encodedBlockSize !== 0) return "F16";
  const isOutput = name === "output.weight" || (isTied && name === "token_embd.weight");
  if (chosen !== "Q4_0" || !isOutput) return chosen;
  return width % sixBitBlockSize === 0 ? "Q6_K" : "Q8_0";
}

/** Returns the type that represents the values of a stored tensor exactly, among the types that need no blocks. */
export function exactTypeOf(type: StoredType): "F32" | "F16" | "BF16" {
  return type === "F16" || type === "BF16" ? type : "F32";
}

/** Returns the bytes of whole rows of values. */
export function encodeValues(values: Float32Array, type: EncodedType): Uint8Array {
  switch (type) {
    case "F32":
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    case "F16":
      return bytesOf(float32ToFloat16(values));
    case "BF16":
      return bytesOf(float32ToBfloat16(values));
    case "Q6_K":
      return quantizeSixBits(values);
    default:
      return quantize(type, values);
  }
}

function bytesOf(halves: Uint16Array): Uint8Array {
  return new Uint8Array(halves.buffer, halves.byteOffset, halves.byteLength);
}
