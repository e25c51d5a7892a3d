// Times to the microsecond, as Python's clients have them; a Date knows milliseconds.

/** A time of ISO 8601 in UTC with six digits of a second's fraction, which sorts as text; one without a zone is in UTC. */
export function utcMicroseconds(text: string): string {
  const match = /^([^.]*?)(?:\.(\d+))?(Z|z|[+-]\d\d:?\d\d)?$/.exec(text.replace(" ", "T"));
  const [whole, fraction = "", zone = "Z"] = match === null ? [text] : match.slice(1);
  const seconds = new Date(`${whole}${zone.toUpperCase()}`).toISOString().slice(0, 19);
  return `${seconds}.${fraction.slice(0, 6).padEnd(6, "0")}Z`;
}

/** Between two of them, in whole milliseconds. */
export function elapsedMs(start: string, end: string): number {
  return Math.max(0, Date.parse(end) - Date.parse(start));
}
