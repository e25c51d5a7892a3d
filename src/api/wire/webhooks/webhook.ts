// Webhooks as the API spells them: making, changing and showing them.
import { Type, type Static } from "typebox";
import {
  type Webhook,
  type WebhookChoice,
  webhookEventTypes,
  type WebhookRequest,
} from "../../../base/domain/webhooks/webhook.ts";
import type { BodyForm } from "../body.ts";
import { nullable, orNull } from "../nullable.ts";
import { pageSchema } from "../page.ts";
import type { WirePlaces } from "../places.ts";

const recordsMaxDefault = 100;

const dateTime = Type.String({ format: "date-time" });
const events = Type.Array(Type.Enum([...webhookEventTypes]), {
  minItems: 1,
  maxItems: webhookEventTypes.length,
  description: "What is sent.",
  examples: [["feedback.created"]],
});
const url = Type.String({
  description: "Where events are sent by POST; one of the places that the operator allows.",
  examples: ["https://hooks.example.com/hone"],
});
const filters = {
  project_id: nullable(Type.String(), { description: "Only events of this `<entity>/<project>`." }),
  feedback_type: nullable(Type.String({ minLength: 1, maxLength: 256 }), {
    description: "Of feedback, only events of records of this type.",
  }),
};
const recordsRange = { minimum: 1, maximum: 1000 };

const creationSchema = Type.Object(
  {
    url,
    events,
    ...filters,
    records_max: nullable(Type.Integer(recordsRange), {
      default: recordsMaxDefault,
      description:
        "Most records of one event: those that were written together come together, up to this and a megabyte.",
    }),
    secret: nullable(Type.String({ maxLength: 128 }), {
      description: "What requests are signed with: `whsec_` and the base64 of 24 to 64 bytes.",
      "x-default": "a fresh one",
    }),
    entity: nullable(Type.String(), { description: "Whose events; another than the key's for admins." }),
  },
  { title: "WebhookCreate" },
);

const changeSchema = Type.Object(
  {
    url: Type.Optional(url),
    events: Type.Optional(events),
    ...filters,
    records_max: Type.Optional(Type.Integer({ ...recordsRange, description: "Most records of one event." })),
    enabled: Type.Optional(
      Type.Boolean({ description: "False sends nothing any more; true sends again what comes from now on." }),
    ),
  },
  { title: "WebhookChange" },
);

export const webhookCreateForm: BodyForm<typeof creationSchema> = { schema: creationSchema };
export const webhookChangeForm: BodyForm<typeof changeSchema> = { schema: changeSchema };

/** Where a client sent what the service speaks of. */
export const webhookPlaces: WirePlaces = {
  url: ["body", "url"],
  secret: ["body", "secret"],
  entity: ["body", "entity"],
  projectId: ["body", "project_id"],
};

export function webhookRequest(body: Static<typeof creationSchema>): WebhookRequest {
  return {
    url: body.url,
    events: [...new Set(body.events)],
    projectId: body.project_id ?? null,
    feedbackType: body.feedback_type ?? null,
    recordsMax: body.records_max ?? recordsMaxDefault,
    secret: body.secret ?? null,
    entity: body.entity ?? null,
  };
}

/** What is named changes; a filter that is null is taken away. */
export function webhookChange(
  body: Static<typeof changeSchema>,
): Partial<WebhookChoice> & { readonly isEnabled?: boolean } {
  return {
    ...(body.url === undefined ? {} : { url: body.url }),
    ...(body.events === undefined ? {} : { events: [...new Set(body.events)] }),
    ...(body.project_id === undefined ? {} : { projectId: body.project_id }),
    ...(body.feedback_type === undefined ? {} : { feedbackType: body.feedback_type }),
    ...(body.records_max === undefined ? {} : { recordsMax: body.records_max }),
    ...(body.enabled === undefined ? {} : { isEnabled: body.enabled }),
  };
}

const shown = {
  id: Type.String({ format: "uuid" }),
  entity: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.Enum([...webhookEventTypes])),
  project_id: orNull(Type.String()),
  feedback_type: orNull(Type.String()),
  records_max: Type.Integer(),
  created_at: dateTime,
  enabled: Type.Boolean(),
  disabled_at: orNull(dateTime),
  disabled_reason: orNull(Type.String(), { description: "Why nothing is sent." }),
  failing_since: orNull(dateTime, {
    description:
      "The first attempt that failed behind the last one that did not; null where that was the last.",
  }),
  pending: Type.Integer({ minimum: 0, description: "Deliveries that are not over." }),
};
export const webhookSchema = Type.Object(shown, { title: "Webhook" });
export const newWebhookSchema = Type.Object(
  {
    ...shown,
    secret: Type.String({ description: "What requests are signed with; no other answer has it." }),
  },
  { title: "NewWebhook" },
);
export const webhookPageSchema = pageSchema(webhookSchema);
export const webhookDeletionSchema = Type.Object({ id: Type.String(), deleted: Type.Boolean() });

export function webhookBody(webhook: Webhook): Static<typeof webhookSchema> {
  return {
    id: webhook.id,
    entity: webhook.entity,
    url: webhook.url,
    events: [...webhook.events],
    project_id: webhook.projectId,
    feedback_type: webhook.feedbackType,
    records_max: webhook.recordsMax,
    created_at: webhook.createdAt.toISOString(),
    enabled: webhook.disabled === null,
    disabled_at: webhook.disabled?.at.toISOString() ?? null,
    disabled_reason: webhook.disabled?.reason ?? null,
    failing_since: webhook.failingSince?.toISOString() ?? null,
    pending: webhook.pendingCount,
  };
}
