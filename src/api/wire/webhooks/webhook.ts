// API format of webhooks: requests that create or change them, and answers that show them.
import { Type } from "typebox";
import { type Webhook, webhookFields } from "../../../base/domain/webhooks/webhook.ts";
import { nullable, orNull } from "../nullable.ts";
import { alteration, answerOf, creationRows, changeRows, creation, shown } from "../fields/resource.ts";

const dateTime = Type.String({ format: "date-time" });

export const webhookCreateForm = creation("WebhookCreate", {
  ...creationRows(webhookFields),
  secret: nullable(Type.String({ maxLength: 128 }), {
    description:
      "Secret with which the server signs its requests: `whsec_` followed by 24 to 64 bytes in base64.",
    "x-default": "a new random one",
  }),
  entity: nullable(Type.String(), {
    "x-default": "the entity of the key",
    description: "Entity whose events are sent. Only admins can name another entity than their own.",
  }),
});

export const webhookChangeForm = alteration(
  "WebhookChange",
  {
    ...changeRows(webhookFields, "values"),
    enabled: Type.Optional(
      Type.Boolean({
        description:
          "False disables the webhook. True enables it again. It then gets only events that occur after this change.",
      }),
    ),
  },
  "values",
);

const rows = {
  id: Type.String({ format: "uuid" }),
  entity: Type.String(),
  ...shown(webhookFields),
  created_at: dateTime,
  enabled: [
    Type.Boolean({ description: "True if the server sends events." }),
    ({ disabled }: Webhook) => disabled === null,
  ],
  disabled_at: [
    orNull(dateTime, { description: "Time at which the webhook was disabled; null if it is enabled." }),
    ({ disabled }: Webhook) => disabled?.at ?? null,
  ],
  disabled_reason: [
    orNull(Type.String(), {
      description: "Sentence that says why the webhook was disabled; null if it is enabled.",
    }),
    ({ disabled }: Webhook) => disabled?.reason ?? null,
  ],
  failing_since: orNull(dateTime, {
    description:
      "Time of the first failed attempt since the last success; null if the last attempt succeeded.",
  }),
  pending: [
    Type.Integer({
      minimum: 0,
      description: "Number of deliveries that have neither succeeded nor failed yet.",
    }),
    ({ pendingCount }: Webhook) => pendingCount,
  ],
} as const;
export const webhookAnswer = answerOf<Webhook>()("Webhook", rows);
export const newWebhookAnswer = answerOf<Webhook>()("NewWebhook", {
  ...rows,
  secret: Type.String({
    description: "Secret with which the server signs its requests. No other answer contains it.",
  }),
});
export const webhookDeletionSchema = Type.Object({ id: Type.String(), deleted: Type.Boolean() });
