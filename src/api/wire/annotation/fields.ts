// Fields that several requests about annotation queues share.
import { Type } from "typebox";
import { nullable } from "../nullable.ts";
import { unread } from "../fields/resource.ts";

export const projectId = Type.String({ description: "`<entity>/<project>`." });

/** Fields that every request body has. */
export const commonRows = {
  project_id: projectId,
  // Ignored, because the API key identifies the author.
  vendor_user_id: unread(Type.Optional(Type.Null({ description: "Filled by the server." }))),
  wb_user_id: unread(Type.Optional(Type.Null({ description: "Filled by the server." }))),
};

export const annotatorField = nullable(Type.String({ minLength: 1, maxLength: 128 }), {
  description: "Name of the annotator, for several people who share one key.",
  "x-default": "the owner of the key",
});

export const holdField = nullable(Type.Number({ minimum: 1, maximum: 86_400 }), {
  description: "Seconds for which the item is held; then others can get it.",
  "x-default": "600",
});

/** Returns the request fields that select a slice of a list: its limit, offset and order. */
export function sliceFields<Field extends string>(fields: readonly Field[], limitMax: number) {
  return {
    limit: nullable(Type.Integer({ minimum: 1, maximum: limitMax }), {
      default: 100,
      description: "Largest number of entries; the answer stops at 4 MiB, but has at least one.",
    }),
    offset: nullable(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }), {
      default: 0,
      description: "Number of entries to skip.",
    }),
    sort_by: nullable(
      Type.Array(
        Type.Object({
          field: Type.Enum([...fields], { description: "Field to sort by." }),
          direction: Type.Enum(["asc", "desc"], { description: "Sort direction." }),
        }),
        { maxItems: 1 },
      ),
      { description: "Order of the list.", "x-default": "order of arrival" },
    ),
  };
}

/** Converts these fields of a body to the domain's form of a slice. */
export function sliceOf<Field extends string, Name extends string>(
  body: {
    readonly limit: number | null;
    readonly offset: number | null;
    readonly sortBy: readonly { readonly field: Field; readonly direction: "asc" | "desc" }[] | null;
  },
  names: Readonly<Record<Field, Name>>,
) {
  const [order] = body.sortBy ?? [];
  return {
    limit: body.limit ?? 100,
    offset: body.offset ?? 0,
    order: order === undefined ? null : { by: names[order.field], isDescending: order.direction === "desc" },
  };
}
