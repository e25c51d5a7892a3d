// Cuts a page out of a short list that is in memory.
import type { PageRequest } from "../../../../base/domain/page.ts";
import { quoted, ServiceError } from "../../../../base/domain/service-error.ts";
import type { PageBody } from "../../../wire/page.ts";

/**
 * Returns a page of the items.
 *
 * @param items oldest first
 * @throws ServiceError `invalid` if `after` is not the id of an item
 */
export function pageOf(
  items: readonly { readonly id: string }[],
  { after, limit, order }: PageRequest,
): PageBody {
  const ordered = order === "asc" ? items : items.toReversed();
  const index = after === null ? -1 : ordered.findIndex(({ id }) => id === after);
  if (after !== null && index < 0) throw unknownCursor(after);
  const data = ordered.slice(index + 1, index + 1 + limit);
  return {
    object: "list",
    data,
    first_id: data[0]?.id ?? "",
    last_id: data.at(-1)?.id ?? "",
    has_more: index + 1 + data.length < ordered.length,
  };
}

function unknownCursor(after: string): ServiceError {
  const message = `${quoted(after)} is no item of this list; send the last_id of the previous page.`;
  const faults = [{ location: ["after"], message, type: "value_error" }];
  return new ServiceError({ code: "invalid", faults });
}
