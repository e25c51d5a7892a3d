// Encodes weights in the quantized types of GGUF that Hone writes. Every step is rounded to float32, as in llama.cpp's
// reference quantizers (ggml-quants), so the bytes are the same.
import { float32ToFloat16 } from "../../half-floats.ts";

/** Quantized types that Hone writes. */
export type EncodedBlockType = keyof typeof encoders;

/** Number of weights in a block; blocks run along a tensor's last axis. */
export const encodedBlockSize = 32;

interface Encoder {
  readonly bytes: number;
  /** Writes the codes of the block that starts at index `from`, starting at byte `to`. Returns the block's scale. */
  readonly encode: (values: Float32Array, from: number, codes: Uint8Array, to: number) => number;
}

const encoders = {
  Q8_0: { bytes: 34, encode: encodeQ8_0 },
  Q4_0: { bytes: 18, encode: encodeQ4_0 },
} as const satisfies Readonly<Record<string, Encoder>>;

/** Encodes weights; their number must be a multiple of {@link encodedBlockSize}. */
export function quantize(type: EncodedBlockType, values: Float32Array): Uint8Array {
  const { bytes, encode }: Encoder = encoders[type];
  const count = values.length / encodedBlockSize;
  const result = new Uint8Array(count * bytes);
  const scales = new Float32Array(count);
  for (let block = 0; block < count; block++)
    scales[block] = encode(values, block * encodedBlockSize, result, block * bytes + 2);
  const halves = float32ToFloat16(scales);
  for (let block = 0; block < count; block++) {
    result[block * bytes] = halves[block] & 255;
    result[block * bytes + 1] = halves[block] >> 8;
  }
  return result;
}

/** Codes are signed bytes, one a weight; the largest weight has the code 127. */
function encodeQ8_0(values: Float32Array, from: number, codes: Uint8Array, to: number): number {
  let largest = 0;
  for (let index = from; index < from + encodedBlockSize; index++)
    largest = Math.max(largest, Math.abs(values[index]));
  const scale = Math.fround(largest / 127);
  const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
  for (let index = 0; index < encodedBlockSize; index++)
    codes[to + index] = roundedAway(Math.fround(values[from + index] * inverse));
  return scale;
}

/** Rounds to the nearest integer, ties away from zero. */
function roundedAway(value: number): number {
  return value < 0 ? -Math.floor(0.5 - value) : Math.floor(value + 0.5);
}

/** Codes have four bits; the weight of the largest magnitude has the code 0, which means −8. */
function encodeQ4_0(values: Float32Array, from: number, codes: Uint8Array, to: number): number {
  let largest = 0;
  for (let index = from; index < from + encodedBlockSize; index++)
    if (Math.abs(values[index]) > Math.abs(largest)) largest = values[index];
  const scale = Math.fround(largest / -8);
  const inverse = scale === 0 ? 0 : Math.fround(1 / scale);
  const code = (index: number): number =>
    Math.min(15, Math.trunc(Math.fround(Math.fround(values[index] * inverse) + 8.5)));
  for (let index = 0; index < 16; index++)
    codes[to + index] = code(from + index) | (code(from + 16 + index) << 4);
  return scale;
}
