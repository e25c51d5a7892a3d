// Shortens an id to its last characters. Ids begin with their creation time, so only their ends differ visibly.

export function shortId(id: string): string {
  return id.slice(-8);
}
