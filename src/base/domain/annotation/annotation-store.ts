// Contract of the store of annotation queues, their items and each annotator's progress.
import type {
  AnnotationItem,
  AnnotationQueue,
  AnnotationState,
  DisplayField,
  ItemDraft,
  QueueContent,
} from "./queue.ts";

/** Part of a list. Its size in bytes is limited like that of a page, but it contains at least one item. */
export interface ListSlice {
  readonly limit: number;
  /** Number of entries to skip. */
  readonly offset: number;
  readonly bytesMax?: number;
}

export interface ListOrder<Field extends string> {
  readonly by: Field;
  readonly isDescending: boolean;
}

export interface QueueFilter {
  /** Substring of the name, case-insensitive; null matches all. */
  readonly name: string | null;
}

/** Filter of items; null fields match all. */
export interface ItemFilter {
  readonly id: string | null;
  readonly callId: string | null;
  readonly addedBy: string | null;
  /**
   * States of items to include. If an annotator is named, that annotator's state counts; otherwise the most advanced
   * state of any annotator.
   */
  readonly states: readonly AnnotationState[] | null;
  readonly annotator: string | null;
}

export interface ItemKey {
  readonly queueId: string;
  readonly itemId: string;
}

export interface QueueStats {
  readonly queueId: string;
  readonly totalItems: number;
  /** Number of items that as many annotators as required have completed. */
  readonly completedItems: number;
  /** Counts of each annotator who has started, ordered by name. */
  readonly annotators: readonly AnnotatorCounts[];
}

export interface AnnotatorCounts {
  readonly annotator: string;
  readonly completed: number;
  readonly skipped: number;
  readonly inProgress: number;
}

/** Work left for an annotator in a queue. */
export interface Remaining {
  /** Number of items that still need answers and that the annotator has neither completed nor skipped. */
  readonly open: number;
  /** Number of open items that other annotators hold now; they become free if these annotators release them. */
  readonly held: number;
}

export interface AnnotationStore {
  /** The queue is stored durably when the promise resolves, as with every write of this store. */
  createQueue(queue: AnnotationQueue): Promise<void>;
  /** Also finds deleted queues; null if the project has no queue with this id. */
  findQueue(projectId: string, id: string): Promise<AnnotationQueue | null>;
  /** True if the project has a queue that is not deleted. */
  hasQueues(projectId: string): Promise<boolean>;
  /** Returns queues that are not deleted, in the given order and then by age. */
  listQueues(
    projectId: string,
    filter: QueueFilter,
    slice: ListSlice & { readonly order: ListOrder<"name" | "createdAt" | "updatedAt"> | null },
  ): Promise<readonly AnnotationQueue[]>;
  /** Returns the changed queue; null if there is no such queue or it was deleted. */
  updateQueue(
    projectId: string,
    id: string,
    change: Partial<QueueContent> & { readonly updatedAt: Date; readonly deletedAt?: Date },
  ): Promise<AnnotationQueue | null>;
  /**
   * Adds the items whose references are not in the queue yet, in order, in one transaction.
   *
   * @param options.newId makes the id of each item
   * @param options.itemsMax maximum number of items in the queue after the call
   * @returns the number of added items; null if the queue does not exist or is deleted
   * @throws ServiceError `too_large` if the queue would exceed `itemsMax`; nothing is added
   */
  addItems(
    queueId: string,
    drafts: readonly ItemDraft[],
    options: {
      readonly newId: () => string;
      readonly displayFields: readonly DisplayField[];
      readonly addedBy: string;
      readonly at: Date;
      readonly itemsMax: number;
    },
  ): Promise<number | null>;
  /**
   * Returns null if the queue has no such item. @param at current time; holds that have expired by then are ignored,
   * as in all methods below
   */
  findItem(key: ItemKey, at: Date): Promise<AnnotationItem | null>;
  /** Returns items in the given order and then by position. */
  listItems(
    queueId: string,
    filter: ItemFilter,
    slice: ListSlice & {
      readonly order: ListOrder<"position" | "createdAt" | "callId"> | null;
      readonly at: Date;
    },
  ): Promise<readonly AnnotationItem[]>;
  /** Returns statistics of the project's queues in the order of `queueIds`, without deleted queues. */
  stats(projectId: string, queueIds: readonly string[], at: Date): Promise<readonly QueueStats[]>;
  remaining(queueId: string, annotator: string, at: Date): Promise<Remaining>;
  /**
   * Claims an item for the annotator and returns it: the item that the annotator already holds, or else the next one
   * that the annotator has not started and that still needs answers. Items that more annotators have completed come
   * first. Concurrent claims never give an item to more annotators than the queue's `annotatorsPerItem`; returns null
   * if no item is free.
   */
  claim(
    queueId: string,
    claim: { readonly annotator: string; readonly at: Date; readonly until: Date },
  ): Promise<AnnotationItem | null>;
  /**
   * Sets an annotator's state for an item if the current state is one of `from`. Changes in one queue run one at a
   * time.
   *
   * @param move.until end of the hold, for `in_progress`
   * @returns the item, and whether the state was set; null if the queue has no such item
   */
  move(
    key: ItemKey & { readonly annotator: string },
    move: {
      readonly to: AnnotationState;
      readonly from: readonly AnnotationState[];
      readonly at: Date;
      readonly until: Date;
    },
  ): Promise<{ readonly item: AnnotationItem; readonly isMoved: boolean } | null>;
}
