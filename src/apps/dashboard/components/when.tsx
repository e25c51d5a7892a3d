// A time relative to now, such as `3 min ago`, with the exact time in the user's time zone as its tooltip.
import { signal } from "@preact/signals";
import { webPlatform } from "../../client/platform.ts";

/** Current time in milliseconds, updated every half minute while the page is visible. */
const nowMs = signal(webPlatform.now().getTime());
setInterval(() => {
  if (!document.hidden) nowMs.value = webPlatform.now().getTime();
}, 30_000);

/** A dash for null. */
export function When({ at }: { readonly at: string | null }) {
  if (at === null) return <>–</>;
  const date = new Date(at);
  return (
    <time class="when" dateTime={at} title={date.toLocaleString()}>
      {relativeTime(date, nowMs.value)}
    </time>
  );
}

/** Formats a time relative to now. A time that is older than a month, or in another year, is shown as a date. */
function relativeTime(date: Date, now: number): string {
  const seconds = Math.round((now - date.getTime()) / 1000);
  const far = Math.abs(seconds);
  const [count, unit] =
    far < 60
      ? [0, ""]
      : far < 3600
        ? [far / 60, "min"]
        : far < 86_400
          ? [far / 3600, "h"]
          : [far / 86_400, "d"];
  if (unit === "") return seconds < -5 ? "in less than 1 min" : "just now";
  if (unit === "d" && count > 30)
    return date.toLocaleDateString("en", { year: "numeric", month: "short", day: "numeric" });
  const text = `${Math.floor(count)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}
