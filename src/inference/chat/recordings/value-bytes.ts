// How large a value is as JSON, without making it: a prompt may be of megabytes, most of which are one text.

/**
 * About so many characters of JSON; not counted further once they are more than the limit.
 *
 * @param value as it came out of JSON
 */
export function valueBytes(value: unknown, limit: number): number {
  if (typeof value === "string") return value.length + 2;
  if (typeof value !== "object" || value === null) return 5;
  let bytes = 2;
  for (const [name, member] of Object.entries(value)) {
    bytes += (Array.isArray(value) ? 1 : name.length + 4) + valueBytes(member, limit - bytes);
    if (bytes > limit) break;
  }
  return bytes;
}
