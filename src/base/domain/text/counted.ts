// Formats a count with its noun in the singular or the plural.

/** Returns a text such as `1 record` or `2 records`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}
