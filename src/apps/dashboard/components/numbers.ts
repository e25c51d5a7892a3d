// Formats numbers briefly.

/** Formats a number with four significant digits, and with the sign − of typesetting. */
export function shortNumber(value: number): string {
  return withMinus(shortText(value));
}

/** Replaces hyphens by the sign −, which has the width of +. */
export function withMinus(number: string): string {
  return number.replaceAll("-", "−");
}

function shortText(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (value !== 0 && (Math.abs(value) < 1e-3 || Math.abs(value) >= 1e7)) return value.toExponential(2);
  // Without more digits, 0.0015 would be 0.002.
  const maximumFractionDigits = Math.abs(value) < 0.01 ? 5 : 3;
  return value === 0 ? "0" : Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits });
}

/**
 * Returns the difference between two numbers as the reader sees them, after rounding. If both are shown alike although
 * they differ, returns their exact difference.
 */
export function shownDifference(before: number, after: number): number {
  const shown = (value: number): number => Number(shortText(value).replaceAll(",", ""));
  const by = shown(after) - shown(before);
  // Without rounding, 0.583 − 0.5 would be 0.08299999999999996.
  return by === 0 ? after - before : Number(by.toPrecision(12));
}

/** Formats a count with its noun, such as `1 record` or `2,000 records`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

/** Formats bytes in the largest unit with a value ≥ 1. */
export function byteText(bytes: number): string {
  const units = ["B", "KB", "MB", "GB", "TB"];
  const power = Math.min(units.length - 1, bytes < 1 ? 0 : Math.floor(Math.log(bytes) / Math.log(1000)));
  return `${Number((bytes / 1000 ** power).toPrecision(3)).toLocaleString("en")} ${units[power]}`;
}

/** Formats a duration in milliseconds; a dash for null. Durations of ten seconds or more are in larger units. */
export function msText(ms: number | null): string {
  if (ms === null) return "–";
  return ms < 10_000 ? `${ms.toLocaleString("en")} ms` : durationText(ms / 1000);
}

/** Formats a duration in seconds, minutes or hours. */
export function durationText(seconds: number): string {
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${Number((seconds / 3600).toPrecision(2))} h`;
}
