// Webhooks: receivers to which the server sends an entity's events, and the outcomes of deliveries.
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

/** Fields of a webhook that may be changed. */
export const webhookFields = {
  url: text({
    about:
      "URL to which the server sends events by POST. It must be among the receivers that the operator allows.",
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
    text({ lengthMax: 1000, about: "Purpose of the webhook, for people.", isStoredAsJson: true }),
  ),
};
export type WebhookChoice = FieldValues<typeof webhookFields>;

/** Fields of a new webhook. */
export interface WebhookRequest extends WebhookChoice {
  /** Entity of the webhook; null for the caller's entity. */
  readonly entity: string | null;
  /** Secret; null to generate one. */
  readonly secret: string | null;
}

export interface NewWebhook extends WebhookChoice {
  readonly id: string;
  readonly entity: string;
  /** Secret that signs requests: `whsec_` and base64. */
  readonly secret: string;
  readonly createdAt: Date;
}

export interface Webhook extends NewWebhook {
  /** Time and reason of disabling; null while the webhook is enabled. */
  readonly disabled: { readonly at: Date; readonly reason: string } | null;
  /** Time of the first failed attempt since the last success; null if the last attempt succeeded. */
  readonly failingSince: Date | null;
  /** Number of deliveries that are not finished. */
  readonly pendingCount: number;
}

/** Subject of an event, identified by ids. The content is read when the event is sent. */
export type WebhookSubject =
  | { readonly kind: "feedback"; readonly projectId: string; readonly ids: readonly string[] }
  | { readonly kind: "job"; readonly jobId: string };

export interface DeliveryAttempt {
  readonly at: Date;
  readonly durationMs: number;
  /** HTTP status of the response; null if there was no response. */
  readonly status: number | null;
  /** Why the attempt failed; null if it succeeded. */
  readonly error: string | null;
  /** Beginning of the response body, as text. */
  readonly answer: string;
}

export type DeliveryState = "pending" | "delivered" | "failed";

/** Delivery of an event to one webhook. */
export interface Delivery {
  /** Id of the event, the same in each attempt, so that receivers can recognise duplicates. */
  readonly id: string;
  readonly webhookId: string;
  readonly type: WebhookEventType;
  readonly subject: WebhookSubject;
  readonly createdAt: Date;
  readonly state: DeliveryState;
  /** Latest attempts, oldest first. */
  readonly attempts: readonly DeliveryAttempt[];
  /** Total number of attempts. */
  readonly attemptCount: number;
  /** Time from which the attempts are counted: creation, or the last replay. */
  readonly triedSince: Date;
  /**
   * Time of the next attempt; during an attempt, the time after which another server may send it. Null once the
   * delivery is finished.
   */
  readonly dueAt: Date | null;
  readonly endedAt: Date | null;
}
