// What became of the events that went to a webhook, and having them sent again.
import { Type } from "typebox";
import {
  type Delivery,
  type DeliveryAttempt,
  webhookEventTypes,
} from "../../../base/domain/webhooks/webhook.ts";
import { report } from "../../../base/validation/findings.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields } from "../page.ts";
import { answerOf, creation, readBy, type ReadValues } from "../fields/resource.ts";

const states = ["pending", "delivered", "failed"] as const;
const dateTime = Type.String({ format: "date-time" });

export const deliveryQuerySchema = Type.Object({
  ...pageQueryFields,
  state: Type.Optional(Type.Enum([...states], { description: "Only those in this state." })),
});

const attemptAnswer = answerOf<DeliveryAttempt>()(null, {
  at: dateTime,
  duration_ms: Type.Integer({ minimum: 0 }),
  status: orNull(Type.Integer(), { description: "Null where nothing was answered." }),
  error: orNull(Type.String(), { description: "Why it does not count as taken; null where it does." }),
  answer: Type.String({ description: "The first bytes of the answer." }),
});

const replayRows = {
  delivery_id: nullable(Type.String(), {
    description: "The one to send again, whether or not it was taken.",
  }),
  failed_since: readBy(
    nullable(dateTime, { description: "Or all that failed then or later." }),
    (time) => new Date(time),
    null,
  ),
};

export const webhookReplayForm = creation("WebhookReplay", replayRows, {
  more: ({ delivery_id: id = null, failed_since: since = null }, findings) => {
    if ((id === null) === (since === null))
      report(findings, "value_error", "Value error, give either delivery_id or failed_since", "delivery_id");
  },
});

/** The deliveries that a checked request names, in one of its two ways. */
export function replayed({ deliveryId, failedSince }: ReadValues<typeof replayRows>) {
  return deliveryId === null ? { failedSince: failedSince ?? new Date(0) } : { deliveryId };
}

export const replayAnswerSchema = Type.Object({
  replayed: Type.Integer({ minimum: 0, description: "Deliveries that are sent again." }),
  has_more: Type.Boolean({ description: "There may be more that failed; ask once more." }),
});

export const deliveryAnswer = answerOf<Delivery>()("WebhookDelivery", {
  id: Type.String({ description: "What receivers get as `webhook-id`, at each attempt." }),
  type: Type.Enum([...webhookEventTypes]),
  subject: [
    Type.Object({}, { additionalProperties: true, description: "What it is about, by ids." }),
    ({ subject }) =>
      subject.kind === "job"
        ? { job_id: subject.jobId }
        : { project_id: subject.projectId, ids: subject.ids },
  ],
  state: Type.Enum([...states]),
  created_at: dateTime,
  ended_at: orNull(dateTime),
  next_attempt_at: [orNull(dateTime, { description: "Null once it is over." }), ({ dueAt }) => dueAt],
  attempt_count: Type.Integer({ minimum: 0 }),
  attempts: [
    Type.Array(attemptAnswer.schema, { description: "The latest twenty, the oldest of them first." }),
    ({ attempts }) => attempts.map(attemptAnswer.body),
  ],
});
