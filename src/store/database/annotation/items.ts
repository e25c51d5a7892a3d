// Reads items of annotation queues with the annotators' states.
import { type Expression, type Kysely, type Selectable, sql } from "kysely";
import type {
  AnnotationStore,
  ItemFilter,
  ItemKey,
} from "../../../base/domain/annotation/annotation-store.ts";
import type { AnnotationItem } from "../../../base/domain/annotation/queue.ts";
import type { AnnotationItemTable, AnnotationStateTable, Schema } from "../schema.ts";
import { inOrder, sliceOf } from "./list-slices.ts";
import { itemOf } from "./queue-rows.ts";

/** Maximum number of items whose states one SQL statement reads. */
const itemsPerStatement = 1000;

export async function findItem(
  database: Kysely<Schema>,
  { queueId, itemId }: ItemKey,
  at: Date,
): Promise<AnnotationItem | null> {
  const rows = await database
    .selectFrom("annotation_items")
    .selectAll()
    .where("id", "=", itemId)
    .where("queue_id", "=", queueId)
    .execute();
  return (await withStates(database, rows, at))[0] ?? null;
}

export async function listItems(
  database: Kysely<Schema>,
  queueId: string,
  filter: ItemFilter,
  slice: Parameters<AnnotationStore["listItems"]>[2],
): Promise<readonly AnnotationItem[]> {
  let rows = database.selectFrom("annotation_items").where("queue_id", "=", queueId);
  if (filter.id !== null) rows = rows.where("id", "=", filter.id);
  if (filter.callId !== null) rows = rows.where("call_id", "=", filter.callId);
  if (filter.addedBy !== null) rows = rows.where("added_by", "=", filter.addedBy);
  if (filter.states !== null) {
    const places = [...new Set(filter.states)].map((state) => stateOrder.indexOf(state));
    if (places.length === 0) return [];
    rows = rows.where(furthestOf(filter.annotator, slice.at), "in", places);
  }
  const ordered = inOrder(rows, slice.order, {
    position: "position",
    createdAt: "created_at",
    callId: "call_id",
  });
  const found = await sliceOf(ordered.orderBy("position"), slice, [
    "vendor_ref",
    "call_id",
    "display_fields",
  ]);
  return withStates(database, found, slice.at);
}

const stateOrder = ["unstarted", "skipped", "in_progress", "completed"] as const;

/**
 * Returns SQL for the most advanced state of an item, as an index in `stateOrder`. If an annotator is given, only that
 * annotator's state counts; otherwise, the states of all annotators count.
 */
function furthestOf(annotator: string | null, at: Date): Expression<number> {
  const own = annotator === null ? sql`` : sql` and annotator = ${annotator}`;
  return sql<number>`(
    select coalesce(max(case state when 'completed' then 3 when 'in_progress' then 2 else 1 end), 0)
    from annotation_states
    where item_id = annotation_items.id and (held_until is null or held_until > ${at.toISOString()})${own}
  )`;
}

/** Converts rows to items with their annotators' states, in the order of the rows. */
async function withStates(
  database: Kysely<Schema>,
  rows: readonly Selectable<AnnotationItemTable>[],
  at: Date,
): Promise<readonly AnnotationItem[]> {
  const items: AnnotationItem[] = [];
  for (let start = 0; start < rows.length; start += itemsPerStatement) {
    const chunk = rows.slice(start, start + itemsPerStatement);
    const ids = chunk.map(({ id }) => id);
    const states = await database
      .selectFrom("annotation_states")
      .selectAll()
      .where("item_id", "in", ids)
      .where((state) =>
        state.or([state("held_until", "is", null), state("held_until", ">", at.toISOString())]),
      )
      .orderBy("updated_at")
      .execute();
    const byItem = new Map(ids.map((id): [string, Selectable<AnnotationStateTable>[]] => [id, []]));
    for (const state of states) byItem.get(state.item_id)?.push(state);
    items.push(...chunk.map((row) => itemOf(row, byItem.get(row.id) ?? [])));
  }
  return items;
}
