// Numbers that went beyond the greatest there is. Pure.

/** Returns the number itself, or the greatest of its sign where a sum overflowed. */
export function clamped(value: number): number {
  return Math.min(Math.max(value, -Number.MAX_VALUE), Number.MAX_VALUE);
}
