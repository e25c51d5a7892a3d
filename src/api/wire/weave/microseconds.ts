// Times to the microsecond, as Python's clients have them; a Date knows milliseconds.

const isoPattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.(\d+))?(Z|[+-]\d\d:?\d\d)?$/i;

/**
 * A time in UTC with six digits of a second's fraction, which sorts as text; one without a zone is in UTC.
 *
 * @param text what `Date.parse` takes; of forms that are no ISO 8601 milliseconds are kept
 */
export function utcMicroseconds(text: string): string {
  const match = isoPattern.exec(text);
  if (match === null) return `${new Date(text).toISOString().slice(0, -1)}000Z`;
  const [, date, time, fraction = "", zone = "Z"] = match;
  const seconds = new Date(`${date}T${time}${zone.toUpperCase()}`).toISOString().slice(0, 19);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** Between two of them, in whole milliseconds. */
export function elapsedMs(start: string, end: string): number {
  return Math.max(0, Date.parse(end) - Date.parse(start));
}
