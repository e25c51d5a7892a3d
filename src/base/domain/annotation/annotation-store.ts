// Contract of the store of annotation queues, their items and each annotator's progress.
import type {
  AnnotationItem,
  AnnotationQueue,
  AnnotationState,
  DisplayField,
  ItemDraft,
  QueueContent,
} from "./queue.ts";

/**
 * Part of a list, selected by its limit and offset. Its size in bytes is limited like that of a page, but it contains
 * at least one item if there is one.
 */
export interface ListSlice {
  readonly limit: number;
  /** Number of entries to skip at the beginning of the list. */
  readonly offset: number;
  readonly bytesMax?: number;
}

export interface ListOrder<Field extends string> {
  readonly by: Field;
  readonly isDescending: boolean;
}

export interface QueueFilter {
  /** Text that the queue's name must contain, ignoring case; null to select all queues. */
  readonly name: string | null;
}

/** Filter of a queue's items. Fields that are null match all items. */
export interface ItemFilter {
  readonly id: string | null;
  readonly callId: string | null;
  readonly addedBy: string | null;
  /**
   * States of the items to include. If `annotator` is given, that annotator's state counts; otherwise the most advanced
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
  /** Number of items that the required number of annotators have completed. */
  readonly completedItems: number;
  /** Counts for each annotator who has started, ordered by the annotators' names. */
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
  /** Number of items that still need answers, and that this annotator has neither completed nor skipped. */
  readonly open: number;
  /**
   * Number of these open items that other annotators hold now. An item becomes free again if its annotator releases it.
   */
  readonly held: number;
}

export interface AnnotationStore {
  /** Stores a new queue. As for every write of this store, the data is durable when the promise resolves. */
  createQueue(queue: AnnotationQueue): Promise<void>;
  /** Finds a queue, even a deleted one; null if the project has no queue with this id. */
  findQueue(projectId: string, id: string): Promise<AnnotationQueue | null>;
  /** True if the project has a queue that is not deleted. */
  hasQueues(projectId: string): Promise<boolean>;
  /**
   * Returns the queues that are not deleted, in the given order. Queues that are equal in this order are sorted by age.
   */
  listQueues(
    projectId: string,
    filter: QueueFilter,
    slice: ListSlice & { readonly order: ListOrder<"name" | "createdAt" | "updatedAt"> | null },
  ): Promise<readonly AnnotationQueue[]>;
  /** Changes a queue and returns it; null if there is no such queue or it was deleted. */
  updateQueue(
    projectId: string,
    id: string,
    change: Partial<QueueContent> & { readonly updatedAt: Date; readonly deletedAt?: Date },
  ): Promise<AnnotationQueue | null>;
  /**
   * Adds those items whose references are not in the queue yet, in order and in one transaction.
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
   * Finds an item; null if the queue has no such item.
   *
   * @param at current time; as in all methods below, holds that have expired at this time are ignored
   */
  findItem(key: ItemKey, at: Date): Promise<AnnotationItem | null>;
  /** Returns a queue's items in the given order. Items that are equal in this order are sorted by position. */
  listItems(
    queueId: string,
    filter: ItemFilter,
    slice: ListSlice & {
      readonly order: ListOrder<"position" | "createdAt" | "callId"> | null;
      readonly at: Date;
    },
  ): Promise<readonly AnnotationItem[]>;
  /** Returns statistics of the project's queues, in the order of `queueIds`. Deleted queues are left out. */
  stats(projectId: string, queueIds: readonly string[], at: Date): Promise<readonly QueueStats[]>;
  remaining(queueId: string, annotator: string, at: Date): Promise<Remaining>;
  /**
   * Claims an item for the annotator: the one that the annotator already holds, or else the next item that still needs
   * answers and that the annotator has not started. Items that more annotators have completed come first. At most
   * `annotatorsPerItem` annotators can claim an item, even concurrently.
   *
   * @returns null if no item is free
   */
  claim(
    queueId: string,
    claim: { readonly annotator: string; readonly at: Date; readonly until: Date },
  ): Promise<AnnotationItem | null>;
  /**
   * Sets an annotator's state for an item if the current state is one of `from`. Changes in one queue run one after the
   * other.
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
