// Decodes MXFP4 (OCP Microscaling Formats 1.0): 4-bit floating-point numbers in blocks of 32 that share a power of two.

/** Values of the codes: a sign, two bits of exponent, and one of mantissa. */
const values = [0, 0.5, 1, 1.5, 2, 3, 4, 6];
const codeValues = Float32Array.from([...values, ...values.map((value) => -value)]);

/** Decodes a block of a GGUF file: the scale, then 16 bytes with the first 16 weights in their lower halves. */
export function decodeMxfp4(bytes: Uint8Array, from: number, into: Float32Array, to: number): void {
  const scale = powerOf(bytes[from]);
  for (let index = 0; index < 16; index++) {
    const pair = bytes[from + 1 + index];
    into[to + index] = scale * codeValues[pair & 15];
    into[to + 16 + index] = scale * codeValues[pair >> 4];
  }
}

/** Decodes bytes of two neighbouring weights, the first in the lower half, with a scale for each 16 bytes. */
export function decodePairs(bytes: Uint8Array, scales: Uint8Array): Float32Array {
  const result = new Float32Array(2 * bytes.length);
  for (let index = 0; index < bytes.length; index++) {
    const scale = powerOf(scales[index >> 4]);
    result[2 * index] = scale * codeValues[bytes[index] & 15];
    result[2 * index + 1] = scale * codeValues[bytes[index] >> 4];
  }
  return result;
}

function powerOf(exponent: number): number {
  return 2 ** (exponent - 127);
}
