// A limit on any minute, counted by slots of time: those of the last sixty seconds, and of the one that reaches further back
// the share that still lies within them, as if it had come evenly ("sliding window counter",
// https://blog.cloudflare.com/counting-things-a-lot-of-different-things/, with slots shorter than the window). Pure.
import { slotSeconds } from "../../../base/domain/keys/limits.ts";

export const windowSeconds = 60;

/** By slots, whole ones since 1970. */
export type Window = ReadonlyMap<number, number>;

/** The slot of a time in seconds since 1970. */
export function slotAt(seconds: number): number {
  return Math.floor(seconds / slotSeconds);
}

/** What counts against a limit at a time in seconds since 1970. */
export function usedAt(window: Window, seconds: number): number {
  let used = 0;
  for (const [slot, count] of window) used += count * shareAt(slot, seconds);
  return Math.max(0, used);
}

/** How many more fit into a limit, rounded down. */
export function remainingAt(window: Window, seconds: number, limit: number): number {
  return Math.max(0, Math.floor(limit - usedAt(window, seconds)));
}

/**
 * Seconds until no more than `used` counts, if nothing else comes: 0 where that is so already.
 *
 * @param used at least 0
 */
export function secondsUntil(window: Window, seconds: number, used: number): number {
  let left = usedAt(window, seconds);
  if (left <= used) return 0;
  let wait = 0;
  // Slots leave the minute one after the other.
  for (const [slot, count] of [...window].toSorted(([one], [other]) => one - other)) {
    const counted = count * shareAt(slot, seconds);
    if (counted <= 0) continue;
    const end = (slot + 1) * slotSeconds + windowSeconds;
    if (left - counted <= used) {
      const kept = (used - (left - counted)) / count;
      return end - kept * slotSeconds - seconds;
    }
    left -= counted;
    wait = end - seconds;
  }
  return wait;
}

/** The share of a slot that lies within the minute before a time. */
function shareAt(slot: number, seconds: number): number {
  const share = ((slot + 1) * slotSeconds + windowSeconds - seconds) / slotSeconds;
  return Math.min(1, Math.max(0, share));
}
