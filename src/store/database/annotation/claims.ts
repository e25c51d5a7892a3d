// Claims the next item for an annotator, and changes an annotator's state for an item. Claims and changes first lock
// the queue, so that each sees the results of earlier ones.
import { type Selectable, sql, type Transaction } from "kysely";
import { present } from "../../../base/domain/assert.ts";
import type { AnnotationStore } from "../../../base/domain/annotation/annotation-store.ts";
import { type AnnotationItem, type AnnotationState, stateOf } from "../../../base/domain/annotation/queue.ts";
import type { AnnotationItemTable, Schema } from "../schema.ts";
import { findItem } from "./items.ts";
import { lockQueue } from "./lock-queue.ts";

interface Claim {
  readonly annotator: string;
  readonly at: Date;
  readonly until: Date;
}

export async function claimItem(
  transaction: Transaction<Schema>,
  queueId: string,
  claim: Claim,
): Promise<AnnotationItem | null> {
  const queue = await lockQueue(transaction, queueId);
  if (queue === null) return null;
  const row =
    (await ownItem(transaction, queueId, claim)) ??
    (await freeItem(transaction, queueId, { ...claim, annotatorsPerItem: queue.annotators_per_item }));
  if (row === null) return null;
  const key = { queueId, itemId: row.id };
  await writeState(transaction, { ...key, ...claim, state: "in_progress" });
  return findItem(transaction, key, claim.at);
}

/** Finds the item that the annotator already holds. */
async function ownItem(
  transaction: Transaction<Schema>,
  queueId: string,
  { annotator, at }: Claim,
): Promise<Selectable<AnnotationItemTable> | null> {
  const row = await transaction
    .selectFrom("annotation_items")
    .innerJoin("annotation_states", "annotation_states.item_id", "annotation_items.id")
    .selectAll("annotation_items")
    .where("annotation_states.queue_id", "=", queueId)
    .where("annotation_states.annotator", "=", annotator)
    .where("annotation_states.state", "=", "in_progress")
    .where("annotation_states.held_until", ">", at.toISOString())
    .orderBy("annotation_items.position")
    .limit(1)
    .executeTakeFirst();
  return row ?? null;
}

/**
 * Finds a free item. Prefers items that more annotators have completed, so that started items are finished before new
 * ones are started.
 */
async function freeItem(
  transaction: Transaction<Schema>,
  queueId: string,
  { annotator, at, annotatorsPerItem }: Claim & { readonly annotatorsPerItem: number },
): Promise<Selectable<AnnotationItemTable> | null> {
  const now = at.toISOString();
  for (let completedCount = annotatorsPerItem - 1; completedCount >= 0; completedCount--) {
    // Searches the items separately for each number of completions, so that an index provides the order.
    const row = await transaction
      .selectFrom("annotation_items")
      .selectAll()
      .where("queue_id", "=", queueId)
      .where("completed_count", "=", completedCount)
      .where(
        sql<boolean>`not exists (
          select 1 from annotation_states
          where item_id = annotation_items.id and annotator = ${annotator} and state in ('completed', 'skipped')
        )`,
      )
      .where(
        sql<boolean>`(
          select count(*) from annotation_states
          where item_id = annotation_items.id and state = 'in_progress' and held_until > ${now}
            and annotator <> ${annotator}
        ) < ${annotatorsPerItem - completedCount}`,
      )
      .orderBy("position")
      .limit(1)
      .executeTakeFirst();
    if (row !== undefined) return row;
  }
  return null;
}

export async function moveAnnotator(
  transaction: Transaction<Schema>,
  key: Parameters<AnnotationStore["move"]>[0],
  { to, from, at, until }: Parameters<AnnotationStore["move"]>[1],
): ReturnType<AnnotationStore["move"]> {
  if ((await lockQueue(transaction, key.queueId)) === null) return null;
  const item = await findItem(transaction, key, at);
  if (item === null) return null;
  const state = stateOf(item, key.annotator);
  if (!from.includes(state)) return { item, isMoved: false };
  await countCompleted(transaction, key.itemId, Number(to === "completed") - Number(state === "completed"));
  if (to === "unstarted") {
    await transaction
      .deleteFrom("annotation_states")
      .where("item_id", "=", key.itemId)
      .where("annotator", "=", key.annotator)
      .execute();
  } else {
    await writeState(transaction, { ...key, state: to, at, until });
  }
  return { item: present(await findItem(transaction, key, at), "the item that was moved"), isMoved: true };
}

async function countCompleted(
  transaction: Transaction<Schema>,
  itemId: string,
  change: number,
): Promise<void> {
  if (change === 0) return;
  await transaction
    .updateTable("annotation_items")
    .set((item) => ({ completed_count: item("completed_count", "+", change) }))
    .where("id", "=", itemId)
    .execute();
}

async function writeState(
  transaction: Transaction<Schema>,
  {
    queueId,
    itemId,
    annotator,
    state,
    at,
    until,
  }: Claim & {
    readonly queueId: string;
    readonly itemId: string;
    readonly state: Exclude<AnnotationState, "unstarted">;
  },
): Promise<void> {
  const changed = {
    state,
    held_until: state === "in_progress" ? until.toISOString() : null,
    updated_at: at.toISOString(),
  };
  await transaction
    .insertInto("annotation_states")
    .values({ item_id: itemId, annotator, queue_id: queueId, ...changed })
    .onConflict((conflict) => conflict.columns(["item_id", "annotator"]).doUpdateSet(changed))
    .execute();
}
