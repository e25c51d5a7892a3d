// Converts 16-bit floating-point numbers to and from float32.
import { widenHalves } from "../vectors/vectors.ts";

/** Converts bfloat16 to float32; exact. */
export function bfloat16ToFloat32(halves: Uint16Array): Float32Array {
  const words = new Uint32Array(halves.length);
  for (let index = 0; index < halves.length; index++) words[index] = halves[index] << 16;
  return new Float32Array(words.buffer);
}

/** Rounds float32 to bfloat16, ties to even; NaN stays NaN. */
export function float32ToBfloat16(values: Float32Array): Uint16Array {
  const words = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) {
    const word = words[index];
    // NaN needs a special case: rounding up its payload could overflow into infinity.
    if ((word & 0x7fffffff) > 0x7f800000) halves[index] = (word >>> 16) | 0x40;
    else halves[index] = (word + 0x7fff + ((word >>> 16) & 1)) >>> 16;
  }
  return halves;
}

/** Table for {@link float16Table}. */
let table: Float32Array | null = null;

/**
 * Returns the values of all float16 numbers, by their bits. Created at first use, because most processes read none; a
 * lookup takes a twentieth of the time of computing a value.
 */
export function float16Table(): Float32Array {
  table ??= Float32Array.from({ length: 1 << 16 }, (_, bits) => widened(bits));
  return table;
}

/** Converts IEEE 754 binary16 to float32; exact. */
export function float16ToFloat32(halves: Uint16Array): Float32Array {
  if (halves.length % 8 === 0) return widenHalves(halves);
  const known = float16Table();
  const values = new Float32Array(halves.length);
  for (let index = 0; index < halves.length; index++) values[index] = known[halves[index]];
  return values;
}

/** Rounds to IEEE 754 binary16, ties to even; values beyond its range become infinite, NaN stays NaN. */
export function float32ToFloat16(values: Float32Array): Uint16Array {
  const halves = new Uint16Array(values.length);
  for (let index = 0; index < values.length; index++) halves[index] = narrowed(values[index]);
  return halves;
}

function narrowed(value: number): number {
  const sign = value < 0 || Object.is(value, -0) ? 0x8000 : 0;
  const size = Math.abs(value);
  if (Number.isNaN(size)) return 0x7e00;
  if (size === 0) return sign;
  if (size >= 65520) return sign | 0x7c00;
  // Numbers with the same exponent are evenly spaced; below 2^-14 the spacing is that of 2^-14.
  const exponent = Math.max(Math.floor(Math.log2(size)), -14);
  const steps = roundedToEven(size / 2 ** (exponent - 10));
  // If rounding carries, the carry increments the exponent, which is correct.
  return sign | (((exponent + 14) << 10) + steps);
}

/**
 * Rounds to the nearest integer, ties to even.
 *
 * @param value at least 0
 */
function roundedToEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest > 0.5 || (rest === 0.5 && floor % 2 === 1)) return floor + 1;
  return floor;
}

function widened(half: number): number {
  const sign = half & 0x8000 ? -1 : 1;
  const exponent = (half >>> 10) & 0x1f;
  const fraction = half & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Infinity : NaN;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}
