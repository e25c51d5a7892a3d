// Recovers the decimal number behind a float32 of a file.

/** Returns the shortest decimal that rounds to `value` in float32: the number before the file's rounding. */
export function shortestDecimal(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}
