// Parses the header Retry-After (RFC 9110, section 10.2.3), by which another server asks this one to wait.

/**
 * Returns the requested wait, which the caller must limit.
 *
 * @param field value of the header; null or undefined if absent
 * @returns whole seconds, 0 to 999,999,999; null if the header is absent or malformed, or if it is a date, because a
 * date requires synchronized clocks
 */
export function retryAfterSeconds(field: string | null | undefined): number | null {
  const text = field?.trim() ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
