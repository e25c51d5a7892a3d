// Fields that several tools share, such as names and times, and the division of lists into pages.
import * as z from "zod";

export const modelName = z
  .string()
  .min(1)
  .max(500)
  .describe("Trained model: `project/name`, `entity/project/name` or the model's id.");

export const projectName = z
  .string()
  .min(1)
  .max(300)
  .describe("Project: `project` for the entity of the API key, or `entity/project`.");

export const requestId = z
  .string()
  .min(1)
  .max(300)
  .describe("`request_id` of a recorded chat, with or without the prefix `chatcmpl-`.");

export const time = z.string().min(1).max(40).describe("Time in ISO 8601, such as 2026-11-26T12:00:00Z.");

/** Input fields of a tool that lists items. */
export const paging = {
  limit: z.int().min(1).max(100).default(20).describe("Maximum number of items in the page."),
  after: z.string().max(300).optional().describe("Value of `next` in the previous page; omit for the first."),
};

/** Output fields of a tool that lists items. */
export function pageOf<Item extends z.ZodType>(item: Item) {
  return {
    items: z.array(item),
    next: z.string().nullable().describe("Value of `after` for the next page; null on the last page."),
  };
}

interface PageAnswer<Item> {
  readonly data: readonly Item[];
  readonly last_id: string;
  readonly has_more: boolean;
}

export function toPage<Item, Row>(
  { data, last_id: last, has_more: hasMore }: PageAnswer<Item>,
  row: (item: Item) => Row,
): { items: Row[]; next: string | null } {
  return { items: data.map(row), next: hasMore && last !== "" ? last : null };
}

/** Returns the input without the fields that are undefined. */
export function given<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  // Safe cast: undefined values are removed, and no field of a tool is null.
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]?: NonNullable<Fields[Name]>;
  };
}
