// API format of deliveries, which send a webhook's events to its receiver, and of requests to repeat them.
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
  state: Type.Optional(Type.Enum([...states], { description: "Only deliveries in this state." })),
});

const attemptAnswer = answerOf<DeliveryAttempt>()(null, {
  at: Type.String({ format: "date-time", description: "Start time of the attempt." }),
  duration_ms: Type.Integer({ minimum: 0, description: "Duration of the attempt in milliseconds." }),
  status: orNull(Type.Integer(), {
    description: "HTTP status of the receiver's answer; null if it did not answer.",
  }),
  error: orNull(Type.String(), { description: "Why the attempt failed; null if it succeeded." }),
  answer: Type.String({ description: "Beginning of the receiver's answer." }),
});

const replayRows = {
  delivery_id: nullable(Type.String(), {
    description:
      "Id of the delivery to resend, whether it succeeded or failed. Give either this or failed_since.",
  }),
  failed_since: readBy(
    nullable(dateTime, {
      description:
        "Resends all deliveries that failed at this time or later. Give either this or delivery_id.",
    }),
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

/** Returns which deliveries a checked request selects: one by its id, or all that have failed since a time. */
export function replayed({ deliveryId, failedSince }: ReadValues<typeof replayRows>) {
  return deliveryId === null ? { failedSince: failedSince ?? new Date(0) } : { deliveryId };
}

export const replayAnswerSchema = Type.Object({
  replayed: Type.Integer({ minimum: 0, description: "Number of deliveries to resend." }),
  has_more: Type.Boolean({
    description: "True if more failed deliveries may remain; repeat the request to resend them.",
  }),
});

export const deliveryAnswer = answerOf<Delivery>()("WebhookDelivery", {
  id: Type.String({ description: "Id of the delivery. Each attempt sends it in the header `webhook-id`." }),
  type: Type.Enum([...webhookEventTypes], { description: "Type of the event." }),
  subject: [
    Type.Object(
      {},
      {
        additionalProperties: true,
        description:
          "Ids of the things that the event is about. An event about a job has `job_id`, one about a learning cycle `model_id` and `cycle_id`, and one about feedback `project_id` and the records' `ids`.",
      },
    ),
    ({ subject }) => {
      if (subject.kind === "job") return { job_id: subject.jobId };
      if (subject.kind === "cycle") return { model_id: subject.modelId, cycle_id: subject.cycleId };
      return { project_id: subject.projectId, ids: subject.ids };
    },
  ],
  state: Type.Enum([...states]),
  created_at: dateTime,
  ended_at: orNull(dateTime, {
    description: "Time at which the delivery succeeded or failed; null before that.",
  }),
  next_attempt_at: [
    orNull(dateTime, {
      description: "Earliest time of the next attempt; null once the delivery has succeeded or failed.",
    }),
    ({ dueAt }) => dueAt,
  ],
  attempt_count: Type.Integer({ minimum: 0, description: "Number of attempts made." }),
  attempts: [
    Type.Array(attemptAnswer.schema, { description: "The last 20 attempts, oldest first." }),
    ({ attempts }) => attempts.map(attemptAnswer.body),
  ],
});
