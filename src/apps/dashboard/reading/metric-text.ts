// A metric of a trajectory in few characters.
import { shortNumber } from "../parts/numbers.ts";

/** True and false are marks; nothing where there is none. */
export function metricText(value: number | boolean | undefined): string {
  if (value === undefined) return "";
  return typeof value === "boolean" ? (value ? "✓" : "✗") : shortNumber(value);
}
