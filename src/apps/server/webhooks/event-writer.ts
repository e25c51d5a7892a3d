// Writes the bodies of webhook events. Their subjects are read at sending time, so that no purged data is sent.
import type { Delivery } from "../../../base/domain/webhooks/webhook.ts";
import type { Stores } from "../../../store/database/stores.ts";
import { feedbackEventText, jobEventText } from "../../../api/wire/webhooks/event-text.ts";

/** See `writeEventBody` of the deliverer. */
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
