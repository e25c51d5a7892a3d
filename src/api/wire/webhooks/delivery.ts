// What became of the events that went to a webhook, and having them sent again.
import { Type, type Static } from "typebox";
import { type Delivery, webhookEventTypes } from "../../../base/domain/webhooks/webhook.ts";
import { report } from "../../../base/validation/findings.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageQueryFields, pageSchema } from "../page.ts";

const states = ["pending", "delivered", "failed"] as const;
const dateTime = Type.String({ format: "date-time" });

export const deliveryQuerySchema = Type.Object({
  ...pageQueryFields,
  state: Type.Optional(Type.Enum([...states], { description: "Only those in this state." })),
});

const replaySchema = Type.Object(
  {
    delivery_id: nullable(Type.String(), {
      description: "The one to send again, whether or not it was taken.",
    }),
    failed_since: nullable(dateTime, { description: "Or all that failed then or later." }),
  },
  { title: "WebhookReplay" },
);

export const webhookReplayForm: BodyForm<typeof replaySchema> = {
  schema: replaySchema,
  more: ({ delivery_id: id, failed_since: since }, findings) => {
    const given = [id, since].filter((value) => value !== undefined && value !== null);
    if (given.length !== 1)
      report(findings, "value_error", "Value error, give either delivery_id or failed_since", "delivery_id");
  },
};

export function replayed(
  body: Static<typeof replaySchema>,
): { readonly deliveryId: string } | { readonly failedSince: Date } {
  const { delivery_id: deliveryId, failed_since: since } = body;
  return deliveryId === undefined || deliveryId === null
    ? { failedSince: new Date(since ?? 0) }
    : { deliveryId };
}

export const replayAnswerSchema = Type.Object({
  replayed: Type.Integer({ minimum: 0, description: "Deliveries that are sent again." }),
  has_more: Type.Boolean({ description: "There may be more that failed; ask once more." }),
});

export const deliverySchema = Type.Object(
  {
    id: Type.String({ description: "What receivers get as `webhook-id`, at each attempt." }),
    type: Type.Enum([...webhookEventTypes]),
    subject: Type.Object({}, { additionalProperties: true, description: "What it is about, by ids." }),
    state: Type.Enum([...states]),
    created_at: dateTime,
    ended_at: orNull(dateTime),
    next_attempt_at: orNull(dateTime, { description: "Null once it is over." }),
    attempt_count: Type.Integer({ minimum: 0 }),
    attempts: Type.Array(
      Type.Object({
        at: dateTime,
        duration_ms: Type.Integer({ minimum: 0 }),
        status: orNull(Type.Integer(), { description: "Null where nothing was answered." }),
        error: orNull(Type.String(), { description: "Why it does not count as taken; null where it does." }),
        answer: Type.String({ description: "The first bytes of the answer." }),
      }),
      { description: "The latest twenty, the oldest of them first." },
    ),
  },
  { title: "WebhookDelivery" },
);
export const deliveryPageSchema = pageSchema(deliverySchema);

export function deliveryBody(delivery: Delivery): Static<typeof deliverySchema> {
  const { subject } = delivery;
  return {
    id: delivery.id,
    type: delivery.type,
    subject:
      subject.kind === "job"
        ? { job_id: subject.jobId }
        : { project_id: subject.projectId, ids: subject.ids },
    state: delivery.state,
    created_at: delivery.createdAt.toISOString(),
    ended_at: delivery.endedAt?.toISOString() ?? null,
    next_attempt_at: delivery.dueAt?.toISOString() ?? null,
    attempt_count: delivery.attemptCount,
    attempts: delivery.attempts.map(({ at, durationMs, status, error, answer }) => ({
      at: at.toISOString(),
      duration_ms: durationMs,
      status,
      error,
      answer,
    })),
  };
}
