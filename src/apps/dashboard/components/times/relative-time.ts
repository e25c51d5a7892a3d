// Formats a time relative to now, such as `3 min ago`. Has no side effects.

/** Seconds by which the clocks of the server and of the browser may differ without a visible effect. */
const clockSkewSeconds = 10;

/** Formats a time relative to now. A time that is older than a month, or in another year, is shown as a date. */
export function relativeTime(date: Date, nowMs: number): string {
  const seconds = Math.round((nowMs - date.getTime()) / 1000);
  const far = Math.abs(seconds);
  const [count, unit] =
    far < 60
      ? [0, ""]
      : far < 3600
        ? [far / 60, "min"]
        : far < 86_400
          ? [far / 3600, "h"]
          : [far / 86_400, "d"];
  if (unit === "") return seconds < -clockSkewSeconds ? "in less than 1 min" : "just now";
  if (unit === "d" && count > 30)
    return date.toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
  const text = `${Math.floor(count)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}
