// Checks that the `queue_id` of feedback refers to an annotation queue of its project. A project without queues accepts
// any id, because clients may manage their queues elsewhere.
import type { AnnotationStore } from "../../base/domain/annotation/annotation-store.ts";
import type { FeedbackContent } from "../../base/domain/feedback.ts";
import { cut, type Fault, ServiceError } from "../../base/domain/service-error.ts";

export interface QueuedFeedback extends Pick<FeedbackContent, "projectId" | "queueId"> {
  readonly location: readonly string[];
}

/** The store in which annotation queues are looked up. */
export type QueueSource = Pick<AnnotationStore, "findQueue" | "hasQueues">;

/**
 * Checks the annotation queue of each feedback record.
 *
 * @param records for each record, its queue (null if none) and its location, which faults mention
 * @throws ServiceError `unsupported` with a fault for each record whose queue was deleted or is not in the record's
 * project
 */
export async function checkQueues(records: readonly QueuedFeedback[], queues: QueueSource): Promise<void> {
  const known = new Map<string, boolean>();
  const faults: Fault[] = [];
  for (const { projectId, queueId, location } of records) {
    if (queueId === null) continue;
    const key = JSON.stringify([projectId, queueId]);
    const isKnown = known.get(key) ?? (await isTaken(queues, projectId, queueId));
    known.set(key, isKnown);
    if (isKnown) continue;
    const message = `Queue ${cut(queueId)} not found or has been deleted in the project of this feedback. Name another queue, or leave queue_id out.`;
    faults.push({ location: [...location, "queue_id"], message, type: "value_error" });
  }
  if (faults.length > 0) throw new ServiceError({ code: "unsupported", faults });
}

async function isTaken(queues: QueueSource, projectId: string, queueId: string): Promise<boolean> {
  const queue = await queues.findQueue(projectId, queueId);
  if (queue !== null) return queue.deletedAt === null;
  return !(await queues.hasQueues(projectId));
}
