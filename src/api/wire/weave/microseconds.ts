// Times in microseconds, as Python clients send them; a Date only has milliseconds.

const isoPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * Returns a time in UTC with six fractional digits, which sorts as text; a time without a zone is UTC.
 *
 * @param text a text for `Date.parse`; forms other than ISO 8601 keep only milliseconds
 */
export function utcMicroseconds(text: string): string {
  const match = isoPattern.exec(text);
  if (match === null) return `${new Date(text).toISOString().slice(0, -1)}000Z`;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const seconds = new Date(`${date}T${time}${zone.toUpperCase()}`).toISOString().slice(0, 19);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** Returns the time between two of them, in whole milliseconds. */
export function elapsedMs(start: string, end: string): number {
  return Math.max(0, Date.parse(end) - Date.parse(start));
}
