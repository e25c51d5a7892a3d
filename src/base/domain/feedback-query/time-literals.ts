// Reads times in queries. A time is a number of seconds since 1970, or a date or time in ISO 8601. A time without a
// time zone is in UTC.

/** Range of the years 0 to 9999. Within it, times have the same order as their ISO texts. */
const firstMs = Date.UTC(2000, 0) - 730_485 * 86_400_000;
const lastMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

const isoTime =
  /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})([.,]\d{1,12})?)?\s?(?:(Z|z)|([+-])(\d{2}):?(\d{2}))?)?$/;

/**
 * Returns a literal as milliseconds since 1970, possibly with a fraction; null unless it is a time of the years 0 to
 * 9999.
 */
export function timeOf(literal: string | number | boolean): number | null {
  if (typeof literal === "boolean") return null;
  const ms = typeof literal === "number" ? secondsMs(literal) : isoMs(literal);
  return ms !== null && ms >= firstMs && ms <= lastMs ? ms : null;
}

/**
 * Rounds to the microsecond. Otherwise a multiplication by a thousand would turn 1.1 s and 1.2 s into times that are
 * not 0.1 s apart.
 */
function secondsMs(seconds: number): number | null {
  const ms = Math.round(seconds * 1e6) / 1e3;
  return Number.isFinite(ms) ? ms : null;
}

function isoMs(text: string): number | null {
  const match = isoTime.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour = "0", minute = "0", second = "0", fraction = ".0"] = match;
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  date.setUTCHours(Number(hour), Number(minute), Number(second));
  const isDate = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  // These values are checked here, because `Date` would carry hour 24, minute 60 or second 60 over into the next unit.
  const isTimeOfDay = Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60;
  if (!isDate || !isTimeOfDay) return null;
  const [, , , , , , , , , sign, zoneHours = "0", zoneMinutes = "0"] = match;
  if (Number(zoneHours) > 23 || Number(zoneMinutes) > 59) return null;
  const zoneMs = (Number(zoneHours) * 60 + Number(zoneMinutes)) * 60_000 * (sign === "-" ? -1 : 1);
  const fractionMs = Math.round(Number(`0.${fraction.slice(1)}`) * 1e6) / 1e3;
  return date.getTime() - zoneMs + fractionMs;
}
