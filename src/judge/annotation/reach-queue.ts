// Finds a queue and its questions for a caller, with access checks. Every operation on queues begins with this.
import type { Caller } from "../../base/domain/access.ts";
import type { AnnotationStore } from "../../base/domain/annotation/annotation-store.ts";
import type { AnnotationQueue } from "../../base/domain/annotation/queue.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { reachProject } from "../../base/domain/project.ts";
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type { FeedbackService } from "../feedback/feedback-service.ts";
import { type AskedQuestion, askedQuestions, type FindSpec } from "./asked-questions.ts";
import type { RecordSource } from "./scanned-records.ts";
import type { AnnotationSettings } from "./settings.ts";

/** A queue, with the questions that annotators see. */
export interface ShownQueue extends AnnotationQueue {
  readonly asked: readonly AskedQuestion[];
}

/** Identifies a queue: the queue's id, and the project that contains the queue. */
export interface QueueName {
  readonly projectId: string;
  readonly queueId: string;
}

export interface AnnotationDependencies {
  readonly store: AnnotationStore;
  readonly feedback: Pick<FeedbackService, "create" | "replace" | "delete" | "queryLimits">;
  /** The project's feedback, read without access checks. */
  readonly records: RecordSource["records"];
  readonly findSpec: FindSpec;
  readonly completions: Pick<CompletionStore, "find" | "findOutlines" | "list">;
  readonly clock: Clock;
  readonly settings: AnnotationSettings;
}

/**
 * Returns the queue with the questions that annotators see.
 *
 * @throws ServiceError `invalid`, `forbidden`, or `not_found` if the project has no such queue
 */
export async function reachQueue(
  { store, findSpec }: Pick<AnnotationDependencies, "store" | "findSpec">,
  { projectId, queueId }: QueueName,
  caller: Caller,
): Promise<ShownQueue> {
  reachProject(projectId, caller);
  const queue = await store.findQueue(projectId, queueId);
  if (queue === null || queue.deletedAt !== null) throw notFound("annotation queue", queueId);
  return { ...queue, asked: await askedQuestions(queue, findSpec) };
}
