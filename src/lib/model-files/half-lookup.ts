// Reads a float16 from the bytes of a block as float32.
import { float16Table } from "./half-floats.ts";

/**
 * Returns the float16 at an offset, which need not be even. Uses a table, because without it decoding a block's scale
 * would cost more than decoding a weight.
 */
export function half(bytes: Uint8Array, at: number): number {
  return float16Table()[bytes[at] | (bytes[at + 1] << 8)];
}
