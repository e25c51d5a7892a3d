// Parses the header Retry-After (RFC 9110, section 10.2.3), with which another server asks to wait.

/**
 * Parses the header. The caller must limit the wait.
 *
 * @param field the header's value; null or undefined if absent
 * @returns whole seconds, 0 to 999,999,999; null if the header is absent or malformed, or if it is a date, because a
 * date requires synchronized clocks
 */
export function retryAfterSeconds(field: string | null | undefined): number | null {
  const text = field?.trim() ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
