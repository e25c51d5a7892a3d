// Webhooks: receivers to which the server sends the events of an entity. Also the deliveries of events and their
// outcomes.
import { type FieldValues, integer, orNull, setOf, text } from "../resources/fields.ts";

export const webhookEventTypes = [
  "feedback.created",
  "feedback.replaced",
  "feedback.purged",
  "training_ended",
  "training_failed",
  "learning.promoted",
  "learning.refused",
  "learning.rolled_back",
] as const;
export type WebhookEventType = (typeof webhookEventTypes)[number];
export type FeedbackEventType = Extract<WebhookEventType, `feedback.${string}`>;
export type LearningEventType = Extract<WebhookEventType, `learning.${string}`>;
export type JobWebhookEventType = Exclude<WebhookEventType, FeedbackEventType | LearningEventType>;

/** Fields of a webhook that its owners may change. */
export const webhookFields = {
  url: text({
    about:
      "URL to which the server sends events by POST. The operator must allow its host (server setting `webhooks.allowed`).",
    example: "https://hooks.example.com/hone",
  }),
  events: setOf(webhookEventTypes, { about: "Types of events to send.", example: ["feedback.created"] }),
  projectId: orNull(
    text({ about: "Sends only events of this `<entity>/<project>`; null for all projects of the entity." }),
  ),
  feedbackType: orNull(
    text({
      lengthMin: 1,
      lengthMax: 256,
      about: "Sends feedback events only for records of this feedback type; null for all types.",
      isStoredAsJson: true,
    }),
  ),
  recordsMax: integer({
    minimum: 1,
    maximum: 1000,
    default: 100,
    about:
      "Maximum number of feedback records per event. Records that were written together are sent in one event, up to this number and one megabyte.",
    aboutChange: "Maximum number of feedback records per event.",
  }),
  description: orNull(
    text({ lengthMax: 1000, about: "Description of the webhook's purpose.", isStoredAsJson: true }),
  ),
};
export type WebhookChoice = FieldValues<typeof webhookFields>;

/** Request for a new webhook. */
export interface WebhookRequest extends WebhookChoice {
  /** Entity to which the webhook belongs; null for the caller's entity. */
  readonly entity: string | null;
  /** Secret for signing requests; null to generate one. */
  readonly secret: string | null;
}

export interface NewWebhook extends WebhookChoice {
  readonly id: string;
  readonly entity: string;
  /** Secret for signing requests to the receiver: `whsec_` and base64. */
  readonly secret: string;
  readonly createdAt: Date;
}

export interface Webhook extends NewWebhook {
  /** Time at which the webhook was disabled, and the reason; null while it is enabled. */
  readonly disabled: { readonly at: Date; readonly reason: string } | null;
  /** Time of the first failed attempt since the last successful one; null if the last attempt succeeded. */
  readonly failingSince: Date | null;
  /** Number of deliveries that are not finished. */
  readonly pendingCount: number;
}

/** Ids of the objects that an event is about. Their content is read only when the event is sent. */
export type WebhookSubject =
  | { readonly kind: "feedback"; readonly projectId: string; readonly ids: readonly string[] }
  | { readonly kind: "job"; readonly jobId: string }
  | { readonly kind: "cycle"; readonly modelId: string; readonly cycleId: string };

export interface DeliveryAttempt {
  readonly at: Date;
  readonly durationMs: number;
  /** HTTP status of the receiver's answer; null if there was no answer. */
  readonly status: number | null;
  /** Reason for the failure of the attempt; null if it succeeded. */
  readonly error: string | null;
  /** Beginning of the answer's body, as text. */
  readonly answer: string;
}

export type DeliveryState = "pending" | "delivered" | "failed";

/** Delivery of one event to one webhook. */
export interface Delivery {
  /** Id of the event. It is the same in each attempt, so that receivers can recognize duplicates. */
  readonly id: string;
  readonly webhookId: string;
  readonly type: WebhookEventType;
  readonly subject: WebhookSubject;
  readonly createdAt: Date;
  readonly state: DeliveryState;
  /** Latest attempts to deliver the event, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Number of all attempts, including attempts that are no longer in `attempts`. */
  readonly attemptCount: number;
  /** Time since which attempts count for the retry plan: the time of the delivery's creation or of its last replay. */
  readonly triedSince: Date;
  /**
   * Time of the next attempt; null once the delivery is finished. During an attempt, it is the time after which another
   * server may try.
   */
  readonly dueAt: Date | null;
  readonly endedAt: Date | null;
}
