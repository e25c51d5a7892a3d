// Parses the header Retry-After (RFC 9110, section 10.2.3): how long another server asks to wait.

/**
 * Parses the header. Callers limit the wait themselves.
 *
 * @param field the header's value; null or undefined if absent
 * @returns whole seconds, 0 to 999,999,999; null if absent, malformed, or a date, which would need synchronized clocks
 */
export function retryAfterSeconds(field: string | null | undefined): number | null {
  const text = field?.trim() ?? "";
  return /^\d{1,9}$/.test(text) ? Number(text) : null;
}
