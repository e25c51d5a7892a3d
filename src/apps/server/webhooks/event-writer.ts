// Writes the bodies of webhook events. The records of an event are read only when the event is sent, so that the body
// contains no data that was purged in the meantime.
import type { Delivery } from "../../../base/domain/webhooks/webhook.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { feedbackEventText, jobEventText } from "../../../api/wire/webhooks/event-text.ts";

/** Returns the function that the webhook deliverer needs as `writeEventBody`. */
export function eventWriter({
  feedback,
  jobs,
}: Pick<Stores, "feedback" | "jobs">): (delivery: Delivery) => Promise<string> {
  return async (delivery) => {
    const { subject, type } = delivery;
    if (subject.kind === "job") return jobEventText(delivery, subject.jobId, await jobs.find(subject.jobId));
    const { projectId, ids } = subject;
    const records = type === "feedback.purged" ? [] : await feedback.findMany(projectId, ids);
    return feedbackEventText(delivery, { projectId, ids, records });
  };
}
