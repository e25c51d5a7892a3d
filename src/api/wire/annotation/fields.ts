// Request fields that several requests about annotation queues have in common.
import { Type } from "typebox";
import { nullable } from "../nullable.ts";
import { unread } from "../fields/resource.ts";

export const projectId = Type.String({ description: "Project, as `<entity>/<project>`." });

/** Fields that every request body about annotation queues has. */
export const commonRows = {
  project_id: projectId,
  // The server ignores this field, because the API key identifies the author.
  vendor_user_id: unread(
    Type.Optional(
      Type.Null({ description: "Omit this field or send null: the server uses the owner of the key." }),
    ),
  ),
  wb_user_id: unread(
    Type.Optional(
      Type.Null({ description: "Omit this field or send null: the server uses the owner of the key." }),
    ),
  ),
};

export const annotatorField = nullable(Type.String({ minLength: 1, maxLength: 128 }), {
  description: "Name of the annotator. Needed if several people share one key.",
  "x-default": "the owner of the key",
});

export const holdField = nullable(Type.Number({ minimum: 1, maximum: 86_400 }), {
  description: "Seconds for which the annotator holds the item. After that, other annotators can claim it.",
  "x-default": "600",
});

/**
 * Returns the fields with which a request selects part of a list: a limit, an offset and an order.
 *
 * @param fields names of the fields by which the list can be ordered
 */
export function sliceFields<Field extends string>(fields: readonly Field[], limitMax: number) {
  return {
    limit: nullable(Type.Integer({ minimum: 1, maximum: limitMax }), {
      default: 100,
      description:
        "Maximum number of entries. The answer has fewer if they would exceed 4 MiB, but at least one.",
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
      { description: "Sort order.", "x-default": "the order in which entries were added" },
    ),
  };
}

/** Converts the limit, offset and order of a checked body to the domain's form. */
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
