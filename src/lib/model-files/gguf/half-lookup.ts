// A float16 inside the bytes of a block, as float32.
import { float16ToFloat32 } from "../half-floats.ts";

/**
 * Every float16 by its bits: a scale is looked up, since decoding its bits costs more than a weight does. Made with the first
 * block: most processes that load this read none.
 */
let halves: Float32Array | null = null;

/** The float16 at a place, which need not be even. */
export function half(bytes: Uint8Array, at: number): number {
  halves ??= float16ToFloat32(Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits));
  return halves[bytes[at] | (bytes[at + 1] << 8)];
}
