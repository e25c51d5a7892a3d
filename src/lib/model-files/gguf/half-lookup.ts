// Reads a float16 from the bytes of a block as float32.
import { float16ToFloat32 } from "../half-floats.ts";

/**
 * Table of every float16 by its bits: without it, decoding a block's scale costs more than decoding a weight. Created
 * for the first block, because most processes that load this module read none.
 */
let halves: Float32Array | null = null;

/** Returns the float16 at an offset, which need not be even. */
export function half(bytes: Uint8Array, at: number): number {
  halves ??= float16ToFloat32(Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits));
  return halves[bytes[at] | (bytes[at + 1] << 8)];
}
