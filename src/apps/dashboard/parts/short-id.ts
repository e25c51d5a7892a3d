// An id in few characters. Ids of jobs begin with when they were made, and so begin alike: their ends tell them apart.

export function shortId(id: string): string {
  return id.slice(-8);
}
