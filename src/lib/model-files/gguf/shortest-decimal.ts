// A float32 of a file as the number that its maker wrote.

/** Returns the shortest decimal that rounds to `value` in float32: what the maker had before rounding. */
export function asWritten(value: number): number {
  for (let digits = 1; digits < 9; digits++) {
    const short = Number(value.toPrecision(digits));
    if (Math.fround(short) === Math.fround(value)) return short;
  }
  return value;
}
