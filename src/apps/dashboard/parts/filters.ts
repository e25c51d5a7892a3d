// Filters of a list as its address has them, and the page that they are asked for.

/** Those of `names` that an address has; empty ones are none. */
export function filtersNamed<Name extends string>(
  names: readonly Name[],
  query: URLSearchParams,
): { readonly [N in Name]?: string } {
  const given = names.flatMap((name) => {
    const value = query.get(name) ?? "";
    return value === "" ? [] : [[name, value] as const];
  });
  // Each is the value of one of the names.
  return Object.fromEntries(given) as { readonly [N in Name]?: string };
}

/** Returns the filled-in fields of a form, without blanks around them. */
export function filledIn(form: HTMLFormElement): URLSearchParams {
  const given = new URLSearchParams();
  for (const [name, value] of new FormData(form))
    if (typeof value === "string" && value.trim() !== "") given.set(name, value.trim());
  return given;
}

/** Pages that found nothing are gone on from so often: the server has looked at many for each. */
const emptyPagesMax = 20;

/** The first page that found anything, or else the last that was looked at; null where there is none. */
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
