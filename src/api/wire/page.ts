// API format of lists that are returned in pages: the query of a request, and the page in the answer.
import { Type, type Static, type TSchema } from "typebox";
import type { NumberedPage, Page, PageRequest } from "../../base/domain/page.ts";

export const pageQueryFields = {
  after: Type.Optional(Type.String({ description: "Cursor: the `last_id` of the previous page." })),
  limit: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: 100,
      default: 20,
      description: "Maximum number of items in the page.",
    }),
  ),
  order: Type.Optional(
    Type.Enum(["asc", "desc"], {
      description:
        "Order: oldest first (`asc`) or newest first (`desc`). The description of the answer names the default.",
    }),
  ),
};

/** Query of a request for a list that has no filters. */
export const pageQuerySchema = Type.Object(pageQueryFields);
type PageQuery = Static<typeof pageQuerySchema>;

/**
 * Returns the page to request from a store.
 *
 * @param order order that applies if the query does not set one
 */
export function pageRequest(query: PageQuery, order: PageRequest["order"]): PageRequest {
  // An empty page has an empty `last_id`, and clients send that back as their next cursor.
  const after = query.after === "" ? undefined : query.after;
  return { after: after ?? null, limit: query.limit ?? 20, order: query.order ?? order };
}

export interface PageBody {
  readonly object: "list";
  readonly data: readonly object[];
  readonly first_id: string;
  readonly last_id: string;
  readonly has_more: boolean;
}

export function pageSchema(item: TSchema) {
  return Type.Object({
    object: Type.Enum(["list"]),
    data: Type.Array(item),
    first_id: Type.String({ description: "Id of the first item; empty if the page is empty." }),
    last_id: Type.String({ description: "Cursor; pass it as `after` to get the next page." }),
    has_more: Type.Boolean({ description: "True if another page follows." }),
  });
}

/** Converts a store's page to an answer. */
export async function pageAnswer<Item extends { readonly id: string }>(
  page: Promise<Page<Item>>,
  body: (item: Item) => object,
): Promise<PageBody> {
  return pageBody(await page, body);
}

/**
 * Converts a page of numbered items to an answer. Its cursors are numbers, which remain valid even when items are
 * deleted.
 */
export function numberedPageBody<Item extends { readonly number: number }>(
  { items, last, hasMore }: NumberedPage<Item>,
  body: (item: Item) => object,
): PageBody {
  return {
    object: "list",
    data: items.map(body),
    first_id: String(items[0]?.number ?? ""),
    last_id: last === 0 ? "" : String(last),
    has_more: hasMore,
  };
}

/** Parses a positive integer of at most 15 digits; returns null for any other text. */
export function numberIn(text: string): number | null {
  return /^[1-9]\d{0,14}$/.test(text) ? Number(text) : null;
}

/**
 * Converts a page to an answer.
 *
 * @param body converts an item to its form in the answer
 */
export function pageBody<Item extends { readonly id: string }>(
  page: Page<Item>,
  body: (item: Item) => object,
): PageBody {
  return {
    object: "list",
    data: page.items.map(body),
    first_id: page.items[0]?.id ?? "",
    last_id: page.items.at(-1)?.id ?? "",
    has_more: page.hasMore,
  };
}
