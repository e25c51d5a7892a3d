// Formats a trajectory's metric in few characters.
import { shortNumber } from "../components/numbers.ts";

/** Booleans become marks, a missing value an empty text. */
export function metricText(value: number | boolean | undefined): string {
  if (value === undefined) return "";
  return typeof value === "boolean" ? (value ? "✓" : "✗") : shortNumber(value);
}
