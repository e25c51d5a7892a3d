// The work of annotators in a queue: they claim an item, then answer, skip or reopen it. A request may give the
// annotator's name; the default is the owner of the request's API key.
import { createHash } from "node:crypto";
import type { Caller } from "../../base/domain/access.ts";
import { answerFault } from "../../base/domain/annotation/question.ts";
import {
  type AnnotationItem,
  type AnnotationState,
  type Answers,
  movesTo,
  stateOf,
} from "../../base/domain/annotation/queue.ts";
import type { Remaining } from "../../base/domain/annotation/annotation-store.ts";
import type { FeedbackContent, FeedbackRecord } from "../../base/domain/feedback.ts";
import { type Fault, notFound, quoted, ServiceError } from "../../base/domain/service-error.ts";
import type { Json } from "../../base/domain/text/json.ts";
import type { FeedbackInput } from "../feedback/check-content.ts";
import { type AskedQuestion, feedbackTypeOf } from "./asked-questions.ts";
import { textFaults } from "./check-content.ts";
import { contentIn, type ItemContent } from "./item-content.ts";
import { type AnnotationDependencies, type QueueName, reachQueue, type ShownQueue } from "./reach-queue.ts";

/** Names an item of a queue in a call. */
export interface ItemName extends QueueName {
  readonly itemId: string;
}

/** Name of the annotator who works; null for the owner of the caller's key. */
export type Annotator = string | null;

/**
 * Operations of annotators. Every method throws the errors of `AnnotationService`, and `not_found` for an item that is
 * not in the queue.
 */
export interface AnnotatorService {
  /**
   * Claims an item for the annotator, so that no other annotator can claim it until the hold expires. Returns the item
   * that the annotator already holds, or else the next free one.
   *
   * @param holdSeconds duration of the hold; defaults to the setting
   */
  claim(
    name: QueueName,
    claim: { readonly annotator: Annotator; readonly holdSeconds: number | null },
    caller: Caller,
  ): Promise<ClaimedItem>;
  /**
   * Sets the annotator's state for an item. Setting the current state again has no effect, except that setting
   * `in_progress` again renews the hold.
   *
   * @throws ServiceError `unsupported` for an impossible transition
   */
  progress(
    name: ItemName,
    move: {
      readonly annotator: Annotator;
      readonly state: AnnotationState;
      readonly holdSeconds?: number | null;
    },
    caller: Caller,
  ): Promise<AnnotationItem>;
  /**
   * Stores the annotator's answers to an item as feedback, in place of the annotator's earlier answers. Then sets the
   * annotator's state for the item to `completed`, from any earlier state.
   *
   * @throws ServiceError `invalid` with every invalid answer and every unanswered question
   */
  answer(
    name: ItemName,
    answer: { readonly annotator: Annotator; readonly answers: Answers },
    caller: Caller,
  ): Promise<{ readonly item: AnnotationItem; readonly feedback: readonly FeedbackRecord[] }>;
  /**
   * Removes the annotator's answers to an item, or reverses the annotator's skip of the item. Then holds the item for
   * the annotator again.
   */
  reopen(
    name: ItemName,
    reopening: { readonly annotator: Annotator; readonly holdSeconds: number | null },
    caller: Caller,
  ): Promise<ClaimedItem>;
  /**
   * Releases an item that the annotator holds, so that others can claim it. Has no effect if the annotator does not
   * hold it.
   */
  release(name: ItemName, annotator: Annotator, caller: Caller): Promise<AnnotationItem>;
}

export interface ClaimedItem {
  /** The claimed item; null if none is available to the annotator. */
  readonly item: AnnotationItem | null;
  /** Content of the item to show to the annotator, such as a conversation; null if this server does not store it. */
  readonly content: ItemContent | null;
  readonly annotator: string;
  /** Work left for the annotator in the queue, including the claimed item. */
  readonly remaining: Remaining;
}

export function createAnnotatorService(dependencies: AnnotationDependencies): AnnotatorService {
  const { store, feedback, completions, clock, settings } = dependencies;
  const findContent = contentIn(completions);
  const reach = (name: QueueName, caller: Caller): Promise<ShownQueue> =>
    reachQueue(dependencies, name, caller);
  const hold = (seconds: number | null | undefined) => {
    const at = clock.now();
    return { at, until: new Date(at.getTime() + (seconds ?? settings.holdSeconds) * 1000) };
  };
  const move = async (
    { queueId, itemId }: ItemName,
    annotator: string,
    to: AnnotationState,
    from: readonly AnnotationState[],
    holdSeconds?: number | null,
  ): Promise<AnnotationItem> => {
    const moved = await store.move({ queueId, itemId, annotator }, { to, from, ...hold(holdSeconds) });
    if (moved === null) throw notFound("item of the queue", itemId);
    const state = stateOf(moved.item, annotator);
    if (!moved.isMoved && state !== to) throw noMove(state, to);
    return moved.item;
  };
  const shownTo = async (
    annotator: string,
    projectId: string,
    {
      queueId,
      item,
      at,
    }: { readonly queueId: string; readonly item: AnnotationItem | null; readonly at: Date },
  ): Promise<ClaimedItem> => ({
    item,
    content: item === null ? null : await findContent(projectId, item.vendorRef),
    annotator,
    remaining: await store.remaining(queueId, annotator, at),
  });
  const removeAnswers = (
    queue: ShownQueue,
    itemId: string,
    annotator: string,
    caller: Caller,
  ): Promise<void> => {
    const ids = queue.asked.map((question) => recordId({ queueId: queue.id, itemId, annotator, question }));
    return feedback.delete(queue.projectId, ids, caller);
  };
  return {
    claim: async (name, { annotator: named, holdSeconds }, caller) => {
      const { id: queueId } = await reach(name, caller);
      const annotator = nameOf(named, caller);
      const { at, until } = hold(holdSeconds);
      const item = await store.claim(queueId, { annotator, at, until });
      return shownTo(annotator, name.projectId, { queueId, item, at });
    },
    progress: async (name, { annotator: named, state, holdSeconds }, caller) => {
      const queue = await reach(name, caller);
      const annotator = nameOf(named, caller);
      const renewed = state === "in_progress" ? [state] : [];
      return move(
        { ...name, queueId: queue.id },
        annotator,
        state,
        [...movesTo[state], ...renewed],
        holdSeconds,
      );
    },
    answer: async (name, { annotator: named, answers }, caller) => {
      const queue = await reach(name, caller);
      const annotator = nameOf(named, caller);
      checkAnswers(queue.asked, answers);
      const item = await store.findItem({ queueId: queue.id, itemId: name.itemId }, clock.now());
      if (item === null) throw notFound("item of the queue", name.itemId);
      const records: FeedbackRecord[] = [];
      for (const question of queue.asked) {
        const id = recordId({ queueId: queue.id, itemId: item.id, annotator, question });
        const value = Object.hasOwn(answers, question.name) ? answers[question.name] : undefined;
        if (value === undefined) await feedback.delete(queue.projectId, [id], caller);
        else
          records.push(await put({ id, ...contentOf({ queue, item, annotator, question, value }) }, caller));
      }
      // Marks the item as completed only after storing its answers, so that a completed item always has all its
      // answers. A client that is interrupted in between can send the answers again.
      const key = { ...name, queueId: queue.id };
      const completed = await move(key, annotator, "completed", ["unstarted", "in_progress", "skipped"]);
      return { item: completed, feedback: records };
    },
    reopen: async (name, { annotator: named, holdSeconds }, caller) => {
      const queue = await reach(name, caller);
      const annotator = nameOf(named, caller);
      const every: readonly AnnotationState[] = ["unstarted", "in_progress", "completed", "skipped"];
      const item = await move({ ...name, queueId: queue.id }, annotator, "in_progress", every, holdSeconds);
      await removeAnswers(queue, item.id, annotator, caller);
      return shownTo(annotator, queue.projectId, { queueId: queue.id, item, at: clock.now() });
    },
    release: async (name, named, caller) => {
      const queue = await reach(name, caller);
      const annotator = nameOf(named, caller);
      return move({ ...name, queueId: queue.id }, annotator, "unstarted", ["in_progress"]);
    },
  };

  /**
   * Creates a feedback record. If a record with this id exists already, replaces that record, or leaves it unchanged if
   * its content is the same.
   */
  async function put(
    input: FeedbackInput & { readonly id: string },
    caller: Caller,
  ): Promise<FeedbackRecord> {
    try {
      return await feedback.replace(input.id, input, caller);
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== "not_found") throw error;
      return feedback.create(input, caller);
    }
  }
}

/**
 * Returns the annotator's name: the given one, or the owner of the caller's key.
 *
 * @throws ServiceError `invalid` for an invalid name
 */
function nameOf(named: Annotator, caller: Caller): string {
  const annotator = named ?? caller.owner;
  const faults = textFaults(["annotator"], annotator, 128);
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
  return annotator;
}

function noMove(from: AnnotationState, to: AnnotationState): ServiceError {
  const allowed = (["in_progress", "completed", "skipped"] as const).filter((state) =>
    movesTo[state].includes(from),
  );
  const cure =
    allowed.length === 0 ? "reopen it to work at it again" : `from there it can be ${allowed.join(" or ")}`;
  const message = `The item is ${from} for this annotator and cannot be made ${to}; ${cure}.`;
  return new ServiceError({
    code: "unsupported",
    faults: [{ location: ["annotationState"], message, type: "value_error" }],
  });
}

/**
 * Checks that the answers fit the questions, and that no required answer is missing.
 *
 * @throws ServiceError `invalid` with every fault
 */
function checkAnswers(asked: readonly AskedQuestion[], answers: Answers): void {
  const names = new Set(asked.map(({ name }) => name));
  const unknown = Object.keys(answers).filter((name) => !names.has(name));
  const faults = [
    ...asked.flatMap((question) => answerFaults(question, answers)),
    ...unknown.map((name): Fault => {
      const message = `the queue asks no question ${quoted(name)}; it asks ${[...names].map(quoted).join(", ")}`;
      return { location: ["answers", name], message, type: "value_error" };
    }),
  ];
  if (faults.length > 0) throw new ServiceError({ code: "invalid", faults });
}

function answerFaults({ name, form, isOptional }: AskedQuestion, answers: Answers): readonly Fault[] {
  const location = ["answers", name];
  if (!Object.hasOwn(answers, name)) {
    if (isOptional) return [];
    return [{ location, message: `the question ${quoted(name)} has no answer`, type: "missing" }];
  }
  const message = form === null ? null : answerFault(form, answers[name]);
  return message === null
    ? []
    : [{ location, message: `the answer to ${quoted(name)} ${message}`, type: "value_error" }];
}

interface Answered {
  readonly queue: ShownQueue;
  readonly item: AnnotationItem;
  readonly annotator: string;
  readonly question: AskedQuestion;
  readonly value: Json;
}

function contentOf({ queue, item, annotator, question, value }: Answered): FeedbackContent {
  return {
    projectId: queue.projectId,
    vendorRef: item.vendorRef,
    feedbackType: feedbackTypeOf(question),
    payload: { value },
    creator: annotator,
    annotationRef: question.specRef,
    runnableRef: null,
    callRef: null,
    triggerRef: null,
    queueId: queue.id,
  };
}

/** Derives a feedback record's id from annotator, item and question, so that a new answer replaces the earlier one. */
function recordId({
  queueId,
  itemId,
  annotator,
  question,
}: {
  readonly queueId: string;
  readonly itemId: string;
  readonly annotator: string;
  readonly question: AskedQuestion;
}): string {
  const key = JSON.stringify([queueId, itemId, annotator, question.name]);
  return `annotation-${createHash("sha256").update(key).digest("hex").slice(0, 40)}`;
}
