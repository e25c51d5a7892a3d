// Encodes weights as Q6_K, the type of output projections in files whose other weights have four bits. Every step is
// rounded to float32 in the order of llama.cpp's reference quantizer (`quantize_row_q6_K_ref`), so the bytes are the
// same.
import { float16ToFloat32, float32ToFloat16 } from "../../half-floats.ts";

/** Number of weights in a block of Q6_K. Each group of 16 weights has its own scale. */
export const sixBitBlockSize = 256;
const groupSize = 16;
const blockBytes = 210;
/** If all weights of a group have magnitudes below this one, the group is encoded as zeros. */
const groupMin = Math.fround(1e-15);
const { fround } = Math;

/** Encodes weights; their number must be a multiple of {@link sixBitBlockSize}. */
export function quantizeSixBits(values: Float32Array): Uint8Array {
  const count = values.length / sixBitBlockSize;
  const result = new Uint8Array(count * blockBytes);
  for (let block = 0; block < count; block++) {
    const weights = values.subarray(block * sixBitBlockSize, (block + 1) * sixBitBlockSize);
    encodeBlock(weights, result.subarray(block * blockBytes, (block + 1) * blockBytes));
  }
  return result;
}

function encodeBlock(weights: Float32Array, bytes: Uint8Array): void {
  const codes = new Uint8Array(sixBitBlockSize);
  const scales = Array.from({ length: sixBitBlockSize / groupSize }, (_, group) =>
    bestScale(
      weights.subarray(group * groupSize, (group + 1) * groupSize),
      codes.subarray(group * groupSize, (group + 1) * groupSize),
    ),
  );
  const largest = scales.reduce((most, scale) => (Math.abs(scale) > Math.abs(most) ? scale : most), 0);
  if (Math.abs(largest) < groupMin) return;
  const inverse = fround(-128 / largest);
  const half = float32ToFloat16(Float32Array.of(fround(1 / inverse)));
  const [blockScale] = float16ToFloat32(half);
  for (const [group, scale] of scales.entries()) {
    const code = Math.min(127, nearest(fround(inverse * scale)));
    bytes[192 + group] = code;
    const step = fround(blockScale * code);
    if (step === 0) continue;
    for (let index = group * groupSize; index < (group + 1) * groupSize; index++)
      codes[index] = clamped(nearest(fround(weights[index] / step))) + 32;
  }
  pack(codes, bytes);
  bytes[208] = half[0] & 255;
  bytes[209] = half[0] >> 8;
}

/** Writes the four low bits of all codes, then the two high bits of all codes. */
function pack(codes: Uint8Array, bytes: Uint8Array): void {
  for (const part of [0, 1])
    for (let index = 0; index < 32; index++) {
      const [first, second, third, fourth] = [0, 32, 64, 96].map((from) => codes[128 * part + from + index]);
      bytes[64 * part + index] = (first & 15) | ((third & 15) << 4);
      bytes[64 * part + 32 + index] = (second & 15) | ((fourth & 15) << 4);
      bytes[128 + 32 * part + index] =
        (first >> 4) | ((second >> 4) << 2) | ((third >> 4) << 4) | ((fourth >> 4) << 6);
    }
}

/**
 * Tries nineteen scales for a group and returns the one with the smallest error; errors are weighted by the square of
 * the weight. Writes the codes of the group for this scale.
 */
function bestScale(weights: Float32Array, codes: Uint8Array): number {
  const largest = weights.reduce((most, weight) => (Math.abs(weight) > Math.abs(most) ? weight : most), 0);
  if (Math.abs(largest) < groupMin) return 0;
  let inverse = fround(-32 / largest);
  putCodes(weights, inverse, codes);
  let { product, square } = sums(weights, inverse);
  let scale = square === 0 ? 0 : fround(product / square);
  let best = fround(scale * product);
  for (let step = -9; step <= 9; step++) {
    if (step === 0) continue;
    inverse = fround(-fround(32 + fround(fround(0.1) * step)) / largest);
    ({ product, square } = sums(weights, inverse));
    if (!(square > 0 && fround(product * product) > fround(best * square))) continue;
    putCodes(weights, inverse, codes);
    scale = fround(product / square);
    best = fround(scale * product);
  }
  return scale;
}

function sums(weights: Float32Array, inverse: number): { readonly product: number; readonly square: number } {
  let product = 0;
  let square = 0;
  for (const weight of weights) {
    const code = clamped(nearest(fround(inverse * weight)));
    const importance = fround(weight * weight);
    product = fround(product + fround(fround(importance * weight) * code));
    square = fround(square + fround(fround(importance * code) * code));
  }
  return { product, square };
}

function putCodes(weights: Float32Array, inverse: number, codes: Uint8Array): void {
  for (const [index, weight] of weights.entries())
    codes[index] = clamped(nearest(fround(inverse * weight))) + 32;
}

function clamped(code: number): number {
  return Math.max(-32, Math.min(31, code));
}

/** Rounds to the nearest integer, ties to even, by adding a number without fractional bits. */
function nearest(value: number): number {
  return fround(value + 12_582_912) - 12_582_912;
}
