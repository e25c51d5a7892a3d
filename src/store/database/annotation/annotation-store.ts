// Stores annotation queues and their items. Claims and state changes are in claims.ts.
import { type Kysely, sql, type Transaction } from "kysely";
import type { AnnotationStore } from "../../../base/domain/annotation/annotation-store.ts";
import type { AnnotationQueue, ItemDraft } from "../../../base/domain/annotation/queue.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../paging.ts";
import { claimItem, moveAnnotator } from "./claims.ts";
import { findItem, listItems } from "./items.ts";
import { inOrder, sliceOf } from "./list-slices.ts";
import { lockQueue } from "./lock-queue.ts";
import { changedColumns, contentColumns, foldedName, queueOf } from "./queue-rows.ts";
import { remainingOf, statsOf } from "./stats.ts";

/** Maximum number of items that one SQL statement looks up or writes. */
const itemsPerStatement = 100;

/** Creates the annotation store on a migrated database. */
export function createAnnotationStore(database: Kysely<Schema>): AnnotationStore {
  return {
    createQueue: (queue) => database.transaction().execute((transaction) => insertQueue(transaction, queue)),
    findQueue: async (projectId, id) => {
      const row = await database
        .selectFrom("annotation_queues")
        .selectAll()
        .where("id", "=", id)
        .where("project_id", "=", projectId)
        .executeTakeFirst();
      return row === undefined ? null : queueOf(row);
    },
    hasQueues: async (projectId) =>
      (await database
        .selectFrom("annotation_queues")
        .select("id")
        .where("project_id", "=", projectId)
        .where("deleted_at", "is", null)
        .executeTakeFirst()) !== undefined,
    listQueues: async (projectId, { name }, slice) => {
      let rows = database
        .selectFrom("annotation_queues")
        .where("project_id", "=", projectId)
        .where("deleted_at", "is", null);
      if (name !== null) rows = rows.where(sql<boolean>`folded_name like ${partPattern(name)} escape '\\'`);
      const ordered = inOrder(rows, slice.order, {
        name: "name",
        createdAt: "created_at",
        updatedAt: "updated_at",
      });
      const found = await sliceOf(ordered.orderBy("sequence"), slice, [
        "description",
        "scorer_refs",
        "questions",
      ]);
      return found.map(queueOf);
    },
    updateQueue: async (projectId, id, { updatedAt, deletedAt, ...content }) => {
      const row = await database
        .updateTable("annotation_queues")
        .set({
          ...changedColumns(content),
          updated_at: updatedAt.toISOString(),
          ...(deletedAt === undefined ? {} : { deleted_at: deletedAt.toISOString() }),
        })
        .where("id", "=", id)
        .where("project_id", "=", projectId)
        .where("deleted_at", "is", null)
        .returningAll()
        .executeTakeFirst();
      return row === undefined ? null : queueOf(row);
    },
    addItems: (queueId, drafts, options) =>
      database.transaction().execute((transaction) => addItems(transaction, queueId, drafts, options)),
    findItem: (key, at) => findItem(database, key, at),
    listItems: (queueId, filter, slice) => listItems(database, queueId, filter, slice),
    stats: (projectId, queueIds, at) => statsOf(database, projectId, queueIds, at),
    remaining: (queueId, annotator, at) => remainingOf(database, queueId, annotator, at),
    claim: (queueId, claim) =>
      database.transaction().execute((transaction) => claimItem(transaction, queueId, claim)),
    move: (key, move) =>
      database.transaction().execute((transaction) => moveAnnotator(transaction, key, move)),
  };
}

async function insertQueue(transaction: Transaction<Schema>, queue: AnnotationQueue): Promise<void> {
  await transaction
    .insertInto("annotation_queues")
    .values({
      ...contentColumns(queue),
      id: queue.id,
      sequence: await nextSequence(transaction, "annotation queues"),
      project_id: queue.projectId,
      created_at: queue.createdAt.toISOString(),
      created_by: queue.createdBy,
      updated_at: queue.updatedAt.toISOString(),
      deleted_at: queue.deletedAt?.toISOString() ?? null,
    })
    .execute();
}

async function addItems(
  transaction: Transaction<Schema>,
  queueId: string,
  drafts: readonly ItemDraft[],
  { newId, displayFields, addedBy, at, itemsMax }: Parameters<AnnotationStore["addItems"]>[2],
): Promise<number | null> {
  const queue = await lockQueue(transaction, queueId);
  if (queue === null) return null;
  let position = queue.last_position;
  for (const draft of await newDrafts(transaction, queueId, drafts)) {
    position += 1;
    if (position > itemsMax) throw tooManyItems(itemsMax);
    await transaction
      .insertInto("annotation_items")
      .values({
        id: newId(),
        queue_id: queueId,
        position,
        vendor_ref: draft.vendorRef,
        call_id: draft.callId,
        display_fields: JSON.stringify(displayFields),
        added_by: addedBy,
        created_at: at.toISOString(),
      })
      .execute();
  }
  await transaction
    .updateTable("annotation_queues")
    .set({ last_position: position })
    .where("id", "=", queueId)
    .execute();
  return position - queue.last_position;
}

/**
 * Returns those drafts whose references are not in the queue yet. If several drafts have the same reference, returns
 * only one.
 */
async function newDrafts(
  transaction: Transaction<Schema>,
  queueId: string,
  drafts: readonly ItemDraft[],
): Promise<readonly ItemDraft[]> {
  const byReference = new Map(drafts.map((draft) => [draft.vendorRef, draft]));
  const lengthOf = (reference: string): number => reference.length;
  for (const chunk of chunkRows([...byReference.keys()], { rowsMax: itemsPerStatement, lengthOf })) {
    const known = await transaction
      .selectFrom("annotation_items")
      .select("vendor_ref")
      .where("queue_id", "=", queueId)
      .where("vendor_ref", "in", chunk)
      .execute();
    for (const { vendor_ref: reference } of known) byReference.delete(reference);
  }
  return [...byReference.values()];
}

function tooManyItems(itemsMax: number): ServiceError {
  const message = `The queue would have more than ${itemsMax} items, so none was added. Add fewer, or make another queue.`;
  return new ServiceError({ code: "too_large", message });
}

/** Returns the LIKE pattern for texts that contain `part`. */
function partPattern(part: string): string {
  return `%${foldedName(part).replaceAll(/[\\%_]/g, "\\$&")}%`;
}
