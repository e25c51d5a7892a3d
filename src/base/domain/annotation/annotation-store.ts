// Where annotation queues are kept, with their items and how far each annotator is.
import type {
  AnnotationItem,
  AnnotationQueue,
  AnnotationState,
  DisplayField,
  ItemDraft,
  QueueContent,
} from "./queue.ts";

/** A part of a list; bounded in bytes as a page is, with at least one item. */
export interface ListSlice {
  readonly limit: number;
  /** How many are passed over. */
  readonly offset: number;
  readonly bytesMax?: number;
}

export interface ListOrder<Field extends string> {
  readonly by: Field;
  readonly isDescending: boolean;
}

export interface QueueFilter {
  /** A part of the name, whatever its case; null lets all through. */
  readonly name: string | null;
}

/** What is null lets all through. */
export interface ItemFilter {
  readonly id: string | null;
  readonly callId: string | null;
  readonly addedBy: string | null;
  /** Of the annotator, where one is named; else of whoever is furthest. */
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
  /** Those that as many have completed as the queue asks for. */
  readonly completedItems: number;
  /** Everybody who has begun, by name. */
  readonly annotators: readonly AnnotatorCounts[];
}

export interface AnnotatorCounts {
  readonly annotator: string;
  readonly completed: number;
  readonly skipped: number;
  readonly inProgress: number;
}

/** What an annotator has still to do in a queue. */
export interface Remaining {
  /** Items that the annotator has neither completed nor skipped, and that want further answers. */
  readonly open: number;
  /** Those of them that others hold now, who may give them back. */
  readonly held: number;
}

export interface AnnotationStore {
  /** Durable when it resolves, as all that is written here. */
  createQueue(queue: AnnotationQueue): Promise<void>;
  /** Also one that was deleted; null where the project has none of this id. */
  findQueue(projectId: string, id: string): Promise<AnnotationQueue | null>;
  /** Whether the project has a queue that is not deleted. */
  hasQueues(projectId: string): Promise<boolean>;
  /** Those that are not deleted, by the order and then as they came. */
  listQueues(
    projectId: string,
    filter: QueueFilter,
    slice: ListSlice & { readonly order: ListOrder<"name" | "createdAt" | "updatedAt"> | null },
  ): Promise<readonly AnnotationQueue[]>;
  /** Null where there is no such queue, or it was deleted. */
  updateQueue(
    projectId: string,
    id: string,
    change: Partial<QueueContent> & { readonly updatedAt: Date; readonly deletedAt?: Date },
  ): Promise<AnnotationQueue | null>;
  /**
   * Adds those whose references the queue does not have yet, in their order, in one transaction.
   *
   * @param options.newId makes the id of each
   * @param options.itemsMax that the queue may then have
   * @returns how many were added; null where the queue is not there or deleted
   * @throws ServiceError `too_large`, and nothing is added, where it would have more
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
  /** Null where the queue has no such item. @param at holds that ran out by then are left out, as everywhere below */
  findItem(key: ItemKey, at: Date): Promise<AnnotationItem | null>;
  /** In the order and then by position. */
  listItems(
    queueId: string,
    filter: ItemFilter,
    slice: ListSlice & {
      readonly order: ListOrder<"position" | "createdAt" | "callId"> | null;
      readonly at: Date;
    },
  ): Promise<readonly AnnotationItem[]>;
  /** Of those of the queues that the project has, deleted ones left out, in the order asked for. */
  stats(projectId: string, queueIds: readonly string[], at: Date): Promise<readonly QueueStats[]>;
  remaining(queueId: string, annotator: string, at: Date): Promise<Remaining>;
  /**
   * Gives the annotator an item and holds it: the one that the annotator holds already, or else the first that the annotator
   * has not begun and that fewer have completed or hold than are to answer it. Those that more have completed come first.
   * However many claim at once, no more hold an item than are to answer it. Null where there is none now.
   */
  claim(
    queueId: string,
    claim: { readonly annotator: string; readonly at: Date; readonly until: Date },
  ): Promise<AnnotationItem | null>;
  /**
   * Moves an annotator to a state, if the annotator is in one of `from`; whoever moves in the same queue waits meanwhile.
   *
   * @param move.until until when the item is held, of `in_progress`
   * @returns the item, and whether the annotator was moved; null where the queue has no such item
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
