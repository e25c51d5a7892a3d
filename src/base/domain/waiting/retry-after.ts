// How long another server asks to wait before it is asked again: the field Retry-After (RFC 9110, section 10.2.3).

/**
 * Reads the field. How much of that wait is kept is its callers' affair, who each have a patience of their own.
 *
 * @param field as it came; absent as null or undefined
 * @returns whole seconds, 0 to 999,999,999; null without one, for a date, which only a clock that both share could
 *   answer, and for what is no wait
 */
export function retryAfterSeconds(field: string | null | undefined): number | null {
  const text = field?.trim() ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
