// Filters of a list in its address, and the page of results.

/** Returns the filters in an address whose names are in `names`, without empty ones. */
export function filtersNamed<Name extends string>(
  names: readonly Name[],
  query: URLSearchParams,
): { readonly [N in Name]?: string } {
  const given = names.flatMap((name) => {
    const value = query.get(name) ?? "";
    return value === "" ? [] : [[name, value] as const];
  });
  // Safe cast: each key is one of the names.
  return Object.fromEntries(given) as { readonly [N in Name]?: string };
}

/** Returns the non-empty fields of a form, trimmed. */
export function filledIn(form: HTMLFormElement): URLSearchParams {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form))
    if (typeof value === "string" && value.trim() !== "") given.set(name, value.trim());
  return given;
}

/** Maximum number of empty pages to read; the server has searched many rows for each. */
const emptyPagesMax = 20;

/** Returns the first page with results, or else the last page read; null if there is none. */
export async function firstFound<
  Listed extends { readonly data: readonly unknown[]; readonly has_more: boolean },
>(pages: AsyncIterable<Listed>): Promise<Listed | null> {
  let emptyCount = 0;
  for await (const page of pages) {
    emptyCount += 1;
    if (page.data.length > 0 || !page.has_more || emptyCount >= emptyPagesMax) return page;
  }
  return null;
}
