// Sliding-window counter over one minute, made of shorter slots
// (https://blog.cloudflare.com/counting-things-a-lot-of-different-things/). A slot that is only partly within the last
// sixty seconds counts in proportion, as if its requests were spread evenly. Pure.
import { slotSeconds } from "../../../base/domain/keys/limits.ts";

export const windowSeconds = 60;

/** Amount used in each time slot, by slot number. Slot 0 begins with the year 1970 in UTC. */
export type Window = ReadonlyMap<number, number>;

/** Returns the number of the slot that contains a time, given in seconds since 1970. */
export function slotAt(seconds: number): number {
  return Math.floor(seconds / slotSeconds);
}

/** Returns the amount used in the minute that ends at `seconds`, a time in seconds since 1970. */
export function usedAt(window: Window, seconds: number): number {
  let used = 0;
  for (const [slot, count] of window) used += count * shareAt(slot, seconds);
  return Math.max(0, used);
}

/** Returns the amount that a limit still allows at a time in seconds since 1970, rounded down. */
export function remainingAt(window: Window, seconds: number, limit: number): number {
  return Math.max(0, Math.floor(limit - usedAt(window, seconds)));
}

/**
 * Returns the number of seconds until the used amount has fallen to `used`, if no more requests arrive; 0 if it is
 * already that low.
 *
 * @param used at least 0
 */
export function secondsUntil(window: Window, seconds: number, used: number): number {
  let left = usedAt(window, seconds);
  if (left <= used) return 0;
  let wait = 0;
  // The oldest slot leaves the window first.
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

/** Returns the fraction of a slot that lies within the minute before a time. */
function shareAt(slot: number, seconds: number): number {
  const share = ((slot + 1) * slotSeconds + windowSeconds - seconds) / slotSeconds;
  return Math.min(1, Math.max(0, share));
}
