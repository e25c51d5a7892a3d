// Formats the value of a trajectory's metric briefly.
import { shortNumber } from "../components/numbers.ts";

/** Returns a number, ✓ or ✗ for a boolean, or an empty text for a missing value. */
export function metricText(value: number | boolean | undefined): string {
  if (value === undefined) return "";
  return typeof value === "boolean" ? (value ? "✓" : "✗") : shortNumber(value);
}
