// Sixteen-bit floating-point numbers to and from float32. Pure; knows nothing of files.

/** Widens bfloat16; exact. */
export function bfloat16ToFloat32(halves: Uint16Array): Float32Array {
  const words = new Uint32Array(halves.length);
  for (let index = 0; index < halves.length; index++) words[index] = halves[index] << 16;
  return new Float32Array(words.buffer);
}

/** Rounds to bfloat16, ties to even; NaN stays NaN. */
export function float32ToBfloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const word = words[index];
    // Rounding up a NaN's payload could overflow into infinity.
    if ((word & 0x7fffffff) > 0x7f800000) halves[index] = (word >>> 16) | 0x40;
    else halves[index] = (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return halves;
}

/** Widens IEEE 754 binary16; exact. */
export function float16ToFloat32(halves: Uint16Array): Float32Array {
  const values = new Float32Array(halves.length);
  for (let index = 0; index < halves.length; index++) values[index] = widened(halves[index]);
  return values;
}

function widened(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
