// For tests: annotation queues in memory.
import type {
  AnnotationStore,
  ItemKey,
  ListSlice,
} from "../../../base/domain/annotation/annotation-store.ts";
import {
  type AnnotationItem,
  type AnnotationQueue,
  type AnnotationState,
  overallStateOf,
  stateOf,
} from "../../../base/domain/annotation/queue.ts";
import { fittingCount, pageBytesMax } from "../../../base/domain/page.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { type Exclusively, jsonBytes, type Tables } from "./memory-tables.ts";

export function memoryAnnotation(exclusively: Exclusively): AnnotationStore {
  return {
    createQueue: (queue) =>
      exclusively((tables) => {
        tables.queues = [...tables.queues, queue];
      }),
    findQueue: (projectId, id) =>
      exclusively(
        ({ queues }) => queues.find((queue) => queue.id === id && queue.projectId === projectId) ?? null,
      ),
    hasQueues: (projectId) => exclusively((tables) => queuesOf(tables, projectId).length > 0),
    listQueues: (projectId, { name }, slice) =>
      exclusively((tables) => {
        const part = (name ?? "").toLowerCase();
        const found = queuesOf(tables, projectId).filter((queue) => queue.name.toLowerCase().includes(part));
        return cut(sorted(found, slice.order), slice);
      }),
    updateQueue: (projectId, id, change) =>
      exclusively((tables) => {
        const queue = queuesOf(tables, projectId).find((one) => one.id === id);
        if (queue === undefined) return null;
        const changed = { ...queue, ...change };
        tables.queues = tables.queues.map((one) => (one === queue ? changed : one));
        return changed;
      }),
    addItems: (queueId, drafts, { newId, displayFields, addedBy, at, itemsMax }) =>
      exclusively((tables) => {
        if (liveQueue(tables, queueId) === undefined) return null;
        const before = itemsOf(tables, queueId, at).length;
        for (const draft of drafts) {
          const items = itemsOf(tables, queueId, at);
          if (items.some(({ vendorRef }) => vendorRef === draft.vendorRef)) continue;
          if (items.length === itemsMax)
            throw new ServiceError({ code: "too_large", message: "The queue is full." });
          const added = {
            displayFields,
            addedBy,
            createdAt: at,
            annotations: [],
            position: items.length + 1,
          };
          tables.items = [...tables.items, { ...draft, ...added, id: newId(), queueId }];
        }
        return itemsOf(tables, queueId, at).length - before;
      }),
    findItem: (key, at) => exclusively((tables) => itemAt(tables, key, at) ?? null),
    listItems: (queueId, { id, callId, addedBy, states, annotator }, slice) =>
      exclusively((tables) => {
        const found = itemsOf(tables, queueId, slice.at).filter(
          (item) =>
            item.id === (id ?? item.id) &&
            item.callId === (callId ?? item.callId) &&
            item.addedBy === (addedBy ?? item.addedBy) &&
            (states?.includes(annotator === null ? overallStateOf(item) : stateOf(item, annotator)) ?? true),
        );
        return cut(sorted(found, slice.order), slice);
      }),
    stats: (projectId, queueIds, at) =>
      exclusively((tables) =>
        [...new Set(queueIds)].flatMap((queueId) => {
          const queue = queuesOf(tables, projectId).find(({ id }) => id === queueId);
          if (queue === undefined) return [];
          const items = itemsOf(tables, queueId, at);
          const annotators = new Set(items.flatMap((item) => item.annotations.map((one) => one.annotator)));
          const countOf = (annotator: string, state: AnnotationState) =>
            items.filter((item) => stateOf(item, annotator) === state).length;
          return [
            {
              queueId,
              totalItems: items.length,
              completedItems: items.filter((item) => completedCount(item) >= queue.annotatorsPerItem).length,
              annotators: [...annotators].sort().map((annotator) => ({
                annotator,
                completed: countOf(annotator, "completed"),
                skipped: countOf(annotator, "skipped"),
                inProgress: countOf(annotator, "in_progress"),
              })),
            },
          ];
        }),
      ),
    remaining: (queueId, annotator, at) =>
      exclusively((tables) => {
        const wanted = liveQueue(tables, queueId)?.annotatorsPerItem ?? 0;
        const open = itemsOf(tables, queueId, at).filter(
          (item) => completedCount(item) < wanted && isOpenFor(item, annotator),
        );
        return {
          open: open.length,
          held: open.filter((item) => takenCount(item, annotator) >= wanted).length,
        };
      }),
    claim: (queueId, { annotator, at, until }) =>
      exclusively((tables) => {
        const queue = liveQueue(tables, queueId);
        if (queue === undefined) return null;
        const items = itemsOf(tables, queueId, at);
        const [free] = items
          .filter(
            (item) => isOpenFor(item, annotator) && takenCount(item, annotator) < queue.annotatorsPerItem,
          )
          .sort((a, b) => completedCount(b) - completedCount(a) || a.position - b.position);
        const own = items.find((item) => stateOf(item, annotator) === "in_progress");
        const item = own ?? free;
        if (item === undefined) return null;
        return put(tables, item, { annotator, to: "in_progress", at, until });
      }),
    move: (key, { to, from, at, until }) =>
      exclusively((tables) => {
        if (liveQueue(tables, key.queueId) === undefined) return null;
        const item = itemAt(tables, key, at);
        if (item === undefined) return null;
        if (!from.includes(stateOf(item, key.annotator))) return { item, isMoved: false };
        return { item: put(tables, item, { annotator: key.annotator, to, at, until }), isMoved: true };
      }),
  };
}

function queuesOf({ queues }: Tables, projectId: string): readonly AnnotationQueue[] {
  return queues.filter((queue) => queue.projectId === projectId && queue.deletedAt === null);
}

function liveQueue({ queues }: Tables, id: string): AnnotationQueue | undefined {
  return queues.find((queue) => queue.id === id && queue.deletedAt === null);
}

/** Those of a queue without the holds that have run out. */
function itemsOf({ items }: Tables, queueId: string, at: Date): readonly AnnotationItem[] {
  return items
    .filter((item) => item.queueId === queueId)
    .map((item) => ({
      ...item,
      annotations: item.annotations.filter(({ heldUntil }) => heldUntil === null || heldUntil > at),
    }));
}

function itemAt(tables: Tables, { queueId, itemId }: ItemKey, at: Date): AnnotationItem | undefined {
  return itemsOf(tables, queueId, at).find(({ id }) => id === itemId);
}

function completedCount({ annotations }: AnnotationItem): number {
  return annotations.filter(({ state }) => state === "completed").length;
}

/** Of how many others an item has an answer, or may get one. */
function takenCount({ annotations }: AnnotationItem, annotator: string): number {
  return annotations.filter((one) => one.state !== "skipped" && one.annotator !== annotator).length;
}

function isOpenFor(item: AnnotationItem, annotator: string): boolean {
  return ["unstarted", "in_progress"].includes(stateOf(item, annotator));
}

function put(
  tables: Tables,
  item: AnnotationItem,
  move: { readonly annotator: string; readonly to: AnnotationState; readonly at: Date; readonly until: Date },
): AnnotationItem {
  const { annotator, to: state, at: updatedAt, until } = move;
  const others = item.annotations.filter((one) => one.annotator !== annotator);
  const heldUntil = state === "in_progress" ? until : null;
  const annotations =
    state === "unstarted" ? others : [...others, { annotator, state, heldUntil, updatedAt }];
  const changed = { ...item, annotations };
  tables.items = tables.items.map((one) => (one.id === item.id ? changed : one));
  return changed;
}

function sorted<Field extends string, Item extends { readonly [Name in Field]: string | number | Date }>(
  items: readonly Item[],
  order: { readonly by: Field; readonly isDescending: boolean } | null,
): readonly Item[] {
  if (order === null) return items;
  const sign = order.isDescending ? -1 : 1;
  return items.toSorted((a, b) => (a[order.by] < b[order.by] ? -sign : a[order.by] > b[order.by] ? sign : 0));
}

function cut<Item>(
  items: readonly Item[],
  { limit, offset, bytesMax = pageBytesMax }: ListSlice,
): readonly Item[] {
  const listed = items.slice(offset, offset + limit);
  return listed.slice(0, fittingCount(listed.map(jsonBytes), bytesMax));
}
