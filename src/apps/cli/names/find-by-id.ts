// Finds a thing on the server by its name, its id, or the beginning of its id.
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

export interface Sought<Item> {
  /** The kind of thing as a noun phrase, such as `training job`. */
  readonly noun: string;
  /** Command that lists these things. */
  readonly list: string;
  /** True for an item that has the typed text as a name. Names take precedence over ids. */
  readonly isNamed?: (item: Item) => boolean;
}

/** Maximum number of ids that an error names. */
const shownMax = 5;

/** True for text that can be the beginning of an id. */
export function isIdPrefix(typed: string): boolean {
  return /^[0-9a-f][0-9a-f-]*$/i.test(typed);
}

/**
 * Returns the only item that has this name, or whose id begins with `typed`.
 *
 * @throws ServiceError `not_found` if there is none, `invalid` if there are several
 */
export async function findById<Item extends { readonly id: string }>(
  typed: string,
  items: AsyncIterable<Item>,
  { noun, list, isNamed }: Sought<Item>,
): Promise<Item> {
  const named: Item[] = [];
  const begun: Item[] = [];
  for await (const item of items) {
    if (isNamed?.(item) === true) named.push(item);
    if (item.id.startsWith(typed.toLowerCase())) begun.push(item);
  }
  const found = named.length > 0 ? named : begun;
  if (found.length === 1 && typed !== "") return found[0];
  throw new ServiceError({
    code: found.length === 0 ? "not_found" : "invalid",
    message: `${problem(typed, found, { noun, hasNames: isNamed !== undefined, isName: named.length > 0 })}. \`${list}\` lists them.`,
  });
}

function problem(
  typed: string,
  found: readonly { readonly id: string }[],
  { noun, hasNames, isName }: { readonly noun: string; readonly hasNames: boolean; readonly isName: boolean },
): string {
  if (found.length === 0)
    return hasNames
      ? `No ${noun} has the name ${quoted(typed)}, or an id that begins with it`
      : `No ${noun} has an id that begins with ${quoted(typed)}`;
  const ids = found.slice(0, shownMax).map(({ id }) => id);
  const more = found.length > shownMax ? ", …" : "";
  const [match, cure] = isName
    ? [`have the name ${quoted(typed)}`, "give the id"]
    : [`have ids that begin with ${quoted(typed)}`, "give more of the id"];
  return `${found.length} ${pluralOf(noun)} ${match}; ${cure}: ${ids.join(", ")}${more}`;
}

/** Returns the plural of a noun phrase, whose noun may be followed by `among`. */
function pluralOf(phrase: string): string {
  const [noun, rest = ""] = phrase.split(/(?= among )/);
  return `${noun.replace(/y$/, "ie")}s${rest}`;
}
