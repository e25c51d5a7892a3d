// Recovers the decimal number from which a file's float32 was rounded.

/** Returns the shortest decimal that rounds to `value` in float32. */
export function shortestDecimal(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}
