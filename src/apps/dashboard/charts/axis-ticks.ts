// Texts of the ticks of an axis. All ticks have the digits that their distance needs. Has no side effects.
import { shortNumber, withMinus } from "../components/numbers.ts";
import type { Axis } from "./curve.ts";

/** Maximum number of digits after the point. */
const digitsMax = 12;

interface Unit {
  readonly size: number;
  readonly name: string;
}

const plain: Unit = { size: 1, name: "" };

/** Chooses the unit of an x axis from the largest tick and the distance of the ticks. */
const unitOf: { readonly [A in Axis]: (most: number, step: number) => Unit } = {
  step: () => plain,
  // The distance decides: in a larger unit, ticks such as 5 s would be periodic fractions.
  time: (_, step) => {
    if (step >= 900) return { size: 3600, name: " h" };
    return step >= 15 ? { size: 60, name: " min" } : { size: 1, name: " s" };
  },
  tokens: (most) => {
    if (most >= 1e9) return { size: 1e9, name: "B" };
    if (most >= 1e6) return { size: 1e6, name: "M" };
    return most >= 1e3 ? { size: 1e3, name: "K" } : plain;
  },
};

/** Returns the texts of an x axis's ticks, all in the same unit. */
export function unitTexts(axis: Axis, ticks: readonly number[]): readonly string[] {
  const [first = 0, second = first] = ticks;
  const { size, name } = unitOf[axis](Math.max(...ticks.map(Math.abs)), Math.abs(second - first));
  return tickTexts(ticks.map((tick) => tick / size)).map((text) =>
    axis === "tokens" && text === "0" ? text : `${text}${name}`,
  );
}

/** Returns the texts of ticks at equal distances. A tick that differs from 0 only by rounding is 0. */
export function tickTexts(ticks: readonly number[]): readonly string[] {
  return plainTexts(ticks).map(withMinus);
}

function plainTexts(ticks: readonly number[]): readonly string[] {
  const [first = 0, second = first] = ticks;
  const step = Math.abs(second - first);
  if (step === 0) return ticks.map(shortNumber);
  const values = ticks.map((tick) => (Math.abs(tick) < step / 1000 ? 0 : tick));
  const largest = Math.max(...values.map(Math.abs));
  if (largest < 1e-3 || largest >= 1e7) return values.map((value) => scientific(value, step));
  const isExact = (digits: number): boolean =>
    values.every((value) => Math.abs(Number(value.toFixed(digits)) - value) < step / 100);
  let digits = 0;
  while (digits < digitsMax && !isExact(digits)) digits += 1;
  return values.map((value) => value.toLocaleString("en", { maximumFractionDigits: digits }));
}

function scientific(value: number, step: number): string {
  if (value === 0) return "0";
  let digits = 0;
  while (digits < digitsMax && Math.abs(Number(value.toExponential(digits)) - value) >= step / 100)
    digits += 1;
  return value.toExponential(digits);
}
