// Annotation queues: lists of calls about which people answer the same questions. Also the items of a queue, and the
// state of each annotator for each item.
import { type FieldValues, integer, json, text, texts } from "../resources/fields.ts";
import type { Json } from "../text/json.ts";
import type { Question } from "./question.ts";

/** Fields of a queue that its owners may change. */
export const queueFields = {
  /** Text of 1 to 256 characters. */
  name: text({ about: "Name of the queue." }),
  description: text({ default: "", about: "Description of the queue's purpose.", isStoredAsJson: true }),
  scorerRefs: texts({
    countMax: 50,
    default: [],
    about: "References of published annotation specs, each of which is a question.",
  }),
  questions: json<readonly Question[]>({
    default: [],
    about: "Questions that are defined in the queue itself, without a published spec.",
  }),
  /** Number of annotators whose answers each item needs. At most this many may hold an item at the same time. */
  annotatorsPerItem: integer({
    minimum: 1,
    maximum: 20,
    default: 1,
    about: "Number of annotators who must complete each item.",
  }),
};
export type QueueContent = FieldValues<typeof queueFields>;

export interface AnnotationQueue extends QueueContent {
  readonly id: string;
  readonly projectId: string;
  readonly createdAt: Date;
  /** Owner of the key that created the queue. */
  readonly createdBy: string;
  readonly updatedAt: Date;
  /**
   * Time of deletion; null if the queue is not deleted. A deleted queue is kept, so that feedback can still be
   * attributed to it.
   */
  readonly deletedAt: Date | null;
}

/** Field of a call that clients show to annotators before other fields. */
export interface DisplayField {
  readonly jsonPath: string;
  readonly label: string;
}

/** Item to be judged that is not in a queue yet. */
export interface ItemDraft {
  /** Reference to the judged call, object or op. Unique in a queue. */
  readonly vendorRef: string;
  /** Id by which clients know the call; for objects and ops, the last part of the reference. */
  readonly callId: string;
}

export interface AnnotationItem extends ItemDraft {
  readonly id: string;
  readonly queueId: string;
  /** Position of the item in the order in which items were added to the queue, counted from 1. */
  readonly position: number;
  readonly displayFields: readonly DisplayField[];
  /** Owner of the key that added the item. */
  readonly addedBy: string;
  readonly createdAt: Date;
  /**
   * State of each annotator who has started on the item, in any order. Annotators whose hold has expired are left out.
   */
  readonly annotations: readonly ItemAnnotation[];
}

/**
 * State of one annotator for one item. With `in_progress`, the annotator holds the item until `heldUntil`. After this
 * time, the state is `unstarted` again.
 */
export type AnnotationState = "unstarted" | "in_progress" | "completed" | "skipped";

export interface ItemAnnotation {
  readonly annotator: string;
  readonly state: Exclude<AnnotationState, "unstarted">;
  /** End of the hold; null unless the item is in progress. */
  readonly heldUntil: Date | null;
  readonly updatedAt: Date;
}

/**
 * For each state, the states from which a client may move an annotator to it. A move from `in_progress` to the same
 * state only renews the hold.
 */
export const movesTo: { readonly [State in AnnotationState]: readonly AnnotationState[] } = {
  unstarted: [],
  in_progress: ["unstarted"],
  completed: ["unstarted", "in_progress"],
  skipped: ["unstarted", "in_progress"],
};

/** Returns an annotator's state for an item. */
export function stateOf(
  { annotations }: Pick<AnnotationItem, "annotations">,
  annotator: string,
): AnnotationState {
  return annotations.find((one) => one.annotator === annotator)?.state ?? "unstarted";
}

const furthestFirst: readonly AnnotationState[] = ["completed", "in_progress", "skipped", "unstarted"];

/** Returns the most advanced state that any annotator has for the item. */
export function overallStateOf({ annotations }: Pick<AnnotationItem, "annotations">): AnnotationState {
  return furthestFirst.find((state) => annotations.some((one) => one.state === state)) ?? "unstarted";
}

/** Answers to an item's questions, by question name. */
export type Answers = Readonly<Record<string, Json>>;
