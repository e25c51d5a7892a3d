// Annotation queues: lists of calls that people are to judge, by the same questions. Also what an item is, and how far each
// annotator is with it.
import { type FieldValues, integer, json, text, texts } from "../resources/fields.ts";
import type { Json } from "../text/json.ts";
import type { Question } from "./question.ts";

/** What of a queue its owners may change. */
export const queueFields = {
  /** 1 to 256 characters. */
  name: text({ about: "Name for people." }),
  description: text({ default: "", about: "Purpose of the queue.", isStoredAsJson: true }),
  scorerRefs: texts({
    countMax: 50,
    default: [],
    about: "References of annotation specs; each spec is a question.",
  }),
  questions: json<readonly Question[]>({
    default: [],
    about: "Questions of the queue itself, which need no published spec.",
  }),
  /** The queue gives an item to no more people at a time. */
  annotatorsPerItem: integer({
    minimum: 1,
    maximum: 20,
    default: 1,
    about: "Number of people who must answer each item.",
  }),
};
export type QueueContent = FieldValues<typeof queueFields>;

export interface AnnotationQueue extends QueueContent {
  readonly id: string;
  readonly projectId: string;
  readonly createdAt: Date;
  /** The owner of the key that made it. */
  readonly createdBy: string;
  readonly updatedAt: Date;
  /** What was deleted stays, so that feedback which names it still says what of. */
  readonly deletedAt: Date | null;
}

/** A member of a call that whoever shows an item shows first. */
export interface DisplayField {
  readonly jsonPath: string;
  readonly label: string;
}

/** Something to be judged, before it is in a queue. */
export interface ItemDraft {
  /** What the feedback is on: a call, an object or an op. Unique in a queue. */
  readonly vendorRef: string;
  /** The call's id as clients know it; the last part of the reference of other things. */
  readonly callId: string;
}

export interface AnnotationItem extends ItemDraft {
  readonly id: string;
  readonly queueId: string;
  /** Counts from 1 in the order in which items were added. */
  readonly position: number;
  readonly displayFields: readonly DisplayField[];
  /** The owner of the key that added it. */
  readonly addedBy: string;
  readonly createdAt: Date;
  /** How far each annotator is who has begun, in any order; whose hold ran out is not among them. */
  readonly annotations: readonly ItemAnnotation[];
}

/**
 * How far one annotator is with one item. `in_progress` holds the item until a time, so that nobody else is given it; when
 * that has passed the annotator is at `unstarted` again.
 */
export type AnnotationState = "unstarted" | "in_progress" | "completed" | "skipped";

export interface ItemAnnotation {
  readonly annotator: string;
  readonly state: Exclude<AnnotationState, "unstarted">;
  /** Until when the item is held; null unless it is in progress. */
  readonly heldUntil: Date | null;
  readonly updatedAt: Date;
}

/** From which states a client may move an annotator to one; to stay where one is changes nothing but the hold. */
export const movesTo: { readonly [State in AnnotationState]: readonly AnnotationState[] } = {
  unstarted: [],
  in_progress: ["unstarted"],
  completed: ["unstarted", "in_progress"],
  skipped: ["unstarted", "in_progress"],
};

/** The annotator's state, from what is known of the item. */
export function stateOf(
  { annotations }: Pick<AnnotationItem, "annotations">,
  annotator: string,
): AnnotationState {
  return annotations.find((one) => one.annotator === annotator)?.state ?? "unstarted";
}

const furthestFirst: readonly AnnotationState[] = ["completed", "in_progress", "skipped", "unstarted"];

/** How far an item is whoever works at it: what the furthest of its annotators has. */
export function overallStateOf({ annotations }: Pick<AnnotationItem, "annotations">): AnnotationState {
  return furthestFirst.find((state) => annotations.some((one) => one.state === state)) ?? "unstarted";
}

/** What somebody answers to the questions of an item, by their names. */
export type Answers = Readonly<Record<string, Json>>;
