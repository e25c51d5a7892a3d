// Times in fields of the type `datetime-local`, which have the user's time zone and no seconds.

/** Formats a time for a `datetime-local` field; undefined if the time is missing or invalid. */
export function localTime(iso: string | undefined): string | undefined {
  const time = new Date(iso ?? NaN);
  if (Number.isNaN(time.getTime())) return undefined;
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

/** Converts the named fields from local time to UTC in ISO 8601. */
export function timesIn(fields: URLSearchParams, names: readonly string[]): URLSearchParams {
  const converted = new URLSearchParams(fields);
  for (const name of names) {
    const value = fields.get(name);
    if (value !== null) converted.set(name, new Date(value).toISOString());
  }
  return converted;
}
