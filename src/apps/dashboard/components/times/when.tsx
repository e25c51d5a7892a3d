// A time relative to now, such as `3 min ago`, with the exact time in the user's time zone as its tooltip.
import { signal } from "@preact/signals";
import { webPlatform } from "../../../client/platform.ts";
import { relativeTime } from "./relative-time.ts";

/** Time of the last tick, in milliseconds. All shown times are formatted again at each tick. */
const tickMs = signal(webPlatform.now().getTime());
setInterval(() => {
  if (!document.hidden) tickMs.value = webPlatform.now().getTime();
}, 30_000);

/** A dash for null. */
export function When({ at }: { readonly at: string | null }) {
  if (at === null) return <>–</>;
  const date = new Date(at);
  // An object may be newer than the last tick, so its time would be in the future for a clock that only ticks.
  const nowMs = Math.max(tickMs.value, webPlatform.now().getTime());
  return (
    <time class="when" dateTime={at} title={date.toLocaleString()}>
      {relativeTime(date, nowMs)}
    </time>
  );
}
