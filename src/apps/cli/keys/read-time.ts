// Parses points in time and durations given as flags.
import { ServiceError } from "../../../base/domain/service-error.ts";

const unitSeconds = { s: 1, m: 60, h: 3600, d: 86_400, w: 604_800 } as const;

/**
 * Parses a duration such as `30d`, `12h` or `0`, and returns it in seconds.
 *
 * @throws ServiceError `invalid` for any other text
 */
export function readLength(flag: string, text: string): number {
  const seconds = secondsOf(text);
  if (seconds === null)
    throw invalid(flag, text, "a number with a unit, such as 90s, 30m, 12h, 30d or 4w, or 0");
  return seconds;
}

/**
 * Parses a time in ISO 8601, or a duration from now; null for `none`.
 *
 * @throws ServiceError `invalid` for any other text
 */
export function readTime(flag: string, text: string, now: Date): Date | null {
  if (text === "none") return null;
  const seconds = secondsOf(text);
  const time = seconds === null ? new Date(text) : new Date(now.getTime() + seconds * 1000);
  // Requires a full date, because `Date` would parse a plain number as a year.
  const isTime = seconds !== null || /^\d{4}-\d{2}-\d{2}/.test(text);
  if (!isTime || Number.isNaN(time.getTime()))
    throw invalid(
      flag,
      text,
      "a time such as 2027-01-31 or 2027-01-31T12:00:00Z, a duration such as 30d, or none",
    );
  return time;
}

function secondsOf(text: string): number | null {
  if (text === "0") return 0;
  const [, count, unit] = /^(\d{1,9})([smhdw])$/.exec(text) ?? [];
  // Safe cast: the pattern matches only these units.
  return count === undefined ? null : Number(count) * unitSeconds[unit as keyof typeof unitSeconds];
}

function invalid(flag: string, text: string, wanted: string): ServiceError {
  return new ServiceError({
    code: "invalid",
    message: `${flag} is ${JSON.stringify(text)}; it must be ${wanted}.`,
  });
}
