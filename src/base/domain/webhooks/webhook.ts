// Webhooks: where events of an entity are sent to by the server itself, and what came of each sending.
import { type FieldValues, integer, orNull, setOf, text } from "../resources/fields.ts";

export const webhookEventTypes = [
  "feedback.created",
  "feedback.replaced",
  "feedback.purged",
  "training_ended",
  "training_failed",
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];
export type FeedbackEventType = Extract<WebhookEventType, `feedback.${string}`>;
export type JobWebhookEventType = Exclude<WebhookEventType, FeedbackEventType>;

/** What of a webhook may be changed. */
export const webhookFields = {
  url: text({
    about: "URL that receives events by POST; the operator must allow it.",
    example: "https://hooks.example.com/hone",
  }),
  events: setOf(webhookEventTypes, { about: "Types of the events to send.", example: ["feedback.created"] }),
  projectId: orNull(text({ about: "Only events of this `<entity>/<project>`." })),
  feedbackType: orNull(
    text({
      lengthMin: 1,
      lengthMax: 256,
      about: "Limits feedback events to records of this type.",
      isStoredAsJson: true,
    }),
  ),
  recordsMax: integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    about:
      "Maximum number of records per event. Records that were written together are sent together, up to this number and a megabyte.",
    aboutChange: "Maximum number of records per event.",
  }),
  description: orNull(
    text({ lengthMax: 1000, about: "Purpose of the webhook, for people.", isStoredAsJson: true }),
  ),
};
export type WebhookChoice = FieldValues<typeof webhookFields>;

/** What a webhook is made of. */
export interface WebhookRequest extends WebhookChoice {
  /** Null for the caller's. */
  readonly entity: string | null;
  /** Null for a fresh one. */
  readonly secret: string | null;
}

export interface NewWebhook extends WebhookChoice {
  readonly id: string;
  readonly entity: string;
  /** What requests are signed with: `whsec_` and base64. */
  readonly secret: string;
  readonly createdAt: Date;
}

export interface Webhook extends NewWebhook {
  /** Null while events are sent. */
  readonly disabled: { readonly at: Date; readonly reason: string } | null;
  /** The first attempt that failed behind the last one that did not; null where that was the last. */
  readonly failingSince: Date | null;
  /** Deliveries that are not over. */
  readonly pendingCount: number;
}

/** What an event is about, by its ids: the content is read when it is sent. */
export type WebhookSubject =
  | { readonly kind: "feedback"; readonly projectId: string; readonly ids: readonly string[] }
  | { readonly kind: "job"; readonly jobId: string };

export interface DeliveryAttempt {
  readonly at: Date;
  readonly durationMs: number;
  /** Null where nothing was answered. */
  readonly status: number | null;
  /** Why it did not count as delivered; null where it did. */
  readonly error: string | null;
  /** The first bytes of the answer, as text. */
  readonly answer: string;
}

export type DeliveryState = "pending" | "delivered" | "failed";

/** An event on its way to one webhook. */
export interface Delivery {
  /** The event's, the same at each attempt: by it a receiver knows what it has already. */
  readonly id: string;
  readonly webhookId: string;
  readonly type: WebhookEventType;
  readonly subject: WebhookSubject;
  readonly createdAt: Date;
  readonly state: DeliveryState;
  /** The latest, the oldest of them first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** All that there were. */
  readonly attemptCount: number;
  /** When it began to be tried: at first when it was made, and then when it was last replayed. */
  readonly triedSince: Date;
  /** Null once it is over; while it is being sent, when another server may send it. */
  readonly dueAt: Date | null;
  readonly endedAt: Date | null;
}
