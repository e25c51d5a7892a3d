// Webhooks in the API: requests that create or change them, and answers that show them.
import { Type } from "typebox";
import { type Webhook, webhookFields } from "../../../base/domain/webhooks/webhook.ts";
import { nullable, orNull } from "../nullable.ts";
import { alteration, answerOf, creationRows, changeRows, creation, shown } from "../fields/resource.ts";

const dateTime = Type.String({ format: "date-time" });

export const webhookCreateForm = creation("WebhookCreate", {
  ...creationRows(webhookFields),
  secret: nullable(Type.String({ maxLength: 128 }), {
    description: "Secret that signs requests: `whsec_` and the base64 of 24 to 64 bytes.",
    "x-default": "a fresh one",
  }),
  entity: nullable(Type.String(), {
    description: "Entity whose events are sent; admins may name any entity.",
  }),
});

export const webhookChangeForm = alteration(
  "WebhookChange",
  {
    ...changeRows(webhookFields, "values"),
    enabled: Type.Optional(
      Type.Boolean({ description: "False stops sending; true resumes it for later events." }),
    ),
  },
  "values",
);

const rows = {
  id: Type.String({ format: "uuid" }),
  entity: Type.String(),
  ...shown(webhookFields),
  created_at: dateTime,
  enabled: [Type.Boolean(), ({ disabled }: Webhook) => disabled === null],
  disabled_at: [orNull(dateTime), ({ disabled }: Webhook) => disabled?.at ?? null],
  disabled_reason: [
    orNull(Type.String(), { description: "Reason why nothing is sent." }),
    ({ disabled }: Webhook) => disabled?.reason ?? null,
  ],
  failing_since: orNull(dateTime, {
    description:
      "Time of the first failed attempt since the last success; null if the last attempt succeeded.",
  }),
  pending: [
    Type.Integer({ minimum: 0, description: "Deliveries not yet succeeded or failed." }),
    ({ pendingCount }: Webhook) => pendingCount,
  ],
} as const;
export const webhookAnswer = answerOf<Webhook>()("Webhook", rows);
export const newWebhookAnswer = answerOf<Webhook>()("NewWebhook", {
  ...rows,
  secret: Type.String({ description: "Secret that signs requests; no other answer contains it." }),
});
export const webhookDeletionSchema = Type.Object({ id: Type.String(), deleted: Type.Boolean() });
