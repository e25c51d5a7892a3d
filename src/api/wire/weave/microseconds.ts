// Handles times with microseconds, which Python clients send. A Date has only milliseconds.

const isoPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * Returns a time in UTC with six fractional digits, so that texts sort like the times. If the time zone is missing,
 * assumes UTC.
 *
 * @param text time that `Date.parse` accepts; microseconds are kept only for ISO 8601
 */
export function utcMicroseconds(text: string): string {
  const match = isoPattern.exec(text);
  if (match === null) return `${new Date(text).toISOString().slice(0, -1)}000Z`;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const seconds = new Date(`${date}T${time}${zone.toUpperCase()}`).toISOString().slice(0, 19);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** Returns the whole milliseconds from `start` to `end`, at least 0. */
export function elapsedMs(start: string, end: string): number {
  return Math.max(0, Date.parse(end) - Date.parse(start));
}
