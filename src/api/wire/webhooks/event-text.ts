// Formats an event as the body of a request to a receiver. The body has `type`, `timestamp` and `data`, as Standard
// Webhooks recommends.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { LearningCycle } from "../../../base/domain/learning/learning-cycle.ts";
import type { TrainingJob } from "../../../base/domain/job.ts";
import type { Delivery } from "../../../base/domain/webhooks/webhook.ts";
import { contentBody } from "../feedback/feedback.ts";
import { cycleAnswer } from "../learning/cycle.ts";

type Told = Pick<Delivery, "type" | "createdAt">;

/**
 * Returns the body of an event about feedback.
 *
 * @param records the event's records; those that were purged since the event are missing
 */
export function feedbackEventText(
  event: Told,
  about: {
    readonly projectId: string;
    readonly ids: readonly string[];
    readonly records: readonly FeedbackRecord[];
  },
): string {
  const { projectId, ids, records } = about;
  const data = { project_id: projectId, ids };
  return eventText(
    event,
    event.type === "feedback.purged" ? data : { ...data, records: records.map(contentBody) },
  );
}

/**
 * Returns the body of an event about a training job.
 *
 * @param job the job; null if it was deleted together with its model
 */
export function jobEventText(event: Told, id: string, job: TrainingJob | null): string {
  return eventText(event, {
    job_id: id,
    model_id: job?.modelId ?? null,
    kind: job?.task.kind ?? null,
    state: job?.state ?? null,
    result_step: job?.resultStep ?? null,
    error_message: job?.errorMessage ?? null,
    ended_at: job?.endedAt?.toISOString() ?? null,
  });
}

/**
 * Returns the body of an event about a learning cycle.
 *
 * @param cycle the cycle; null if it was deleted together with its model
 */
export function cycleEventText(
  event: Told,
  { modelId, cycleId }: { readonly modelId: string; readonly cycleId: string },
  cycle: LearningCycle | null,
): string {
  return eventText(event, cycle === null ? { id: cycleId, model_id: modelId } : cycleAnswer.body(cycle));
}

function eventText({ type, createdAt }: Told, data: object): string {
  return JSON.stringify({ type, timestamp: createdAt.toISOString(), data });
}
