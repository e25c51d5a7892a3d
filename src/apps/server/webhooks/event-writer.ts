// Writes the bodies of webhook events. The records of an event are read only when the event is sent, so that the body
// contains no data that was purged in the meantime.
import type { Delivery } from "../../../base/domain/webhooks/webhook.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { cycleEventText, feedbackEventText, jobEventText } from "../../../api/wire/webhooks/event-text.ts";

/** Returns the function that the webhook deliverer needs as `writeEventBody`. */
export function eventWriter({
  feedback,
  jobs,
  learning,
}: Pick<Stores, "feedback" | "jobs" | "learning">): (delivery: Delivery) => Promise<string> {
  return async (delivery) => {
    const { subject, type } = delivery;
    if (subject.kind === "job") return jobEventText(delivery, subject.jobId, await jobs.find(subject.jobId));
    if (subject.kind === "cycle")
      return cycleEventText(delivery, subject, await learning.findCycle(subject.cycleId));
    const { projectId, ids } = subject;
    const records = type === "feedback.purged" ? [] : await feedback.findMany(projectId, ids);
    return feedbackEventText(delivery, { projectId, ids, records });
  };
}
