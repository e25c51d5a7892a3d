// Filters of a list, which are part of the URL, and the search for the first page with results.

/** Returns the non-empty filters in a URL's query whose names are in `names`. */
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

/** Maximum number of empty pages to read. The server has searched many rows for each, so more would take long. */
const emptyPagesMax = 20;

/**
 * Returns the first page that has results. If the limit of empty pages or the end of the list comes first, returns the
 * last page that was read; null if the list has no pages.
 */
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
