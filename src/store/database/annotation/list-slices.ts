// Reads slices of lists by offset, in an order that the client chooses. Other lists are read with a cursor.
import { type SelectQueryBuilder, sql } from "kysely";
import type { ListOrder, ListSlice } from "../../../base/domain/annotation/annotation-store.ts";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import { sizeOf } from "../paging.ts";
import type { Schema } from "../schema.ts";

/** Sorts the rows in the order that the client chose, if any. */
export function inOrder<Table extends keyof Schema, Field extends string>(
  rows: SelectQueryBuilder<Schema, Table, object>,
  order: ListOrder<Field> | null,
  columns: Readonly<Record<Field, string>>,
): SelectQueryBuilder<Schema, Table, object> {
  if (order === null) return rows;
  return rows.orderBy(sql.ref(columns[order.by]), order.isDescending ? "desc" : "asc");
}

/**
 * Reads a slice of a list. The slice is limited in number, and by the total size of the given columns. The list must
 * have a total order, so that slices neither overlap nor leave gaps.
 */
export async function sliceOf<Table extends keyof Schema>(
  rows: SelectQueryBuilder<Schema, Table, object>,
  { limit, offset, bytesMax = pageBytesMax }: ListSlice,
  columns: readonly string[],
) {
  const sizes = await rows.select(sizeOf(columns).as("bytes")).limit(limit).offset(offset).execute();
  const count = fittingCount(
    sizes.map(({ bytes }) => bytes),
    bytesMax,
  );
  return count === 0 ? [] : await rows.selectAll().limit(count).offset(offset).execute();
}
