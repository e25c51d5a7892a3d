// Routes that create, list, change and delete webhooks, and list and replay their deliveries.
import type { FastifyInstance } from "fastify";
import { pageAnswer, pageQuerySchema, pageRequest, pageSchema } from "../../../wire/page.ts";
import {
  deliveryAnswer,
  deliveryQuerySchema,
  replayAnswerSchema,
  replayed,
  webhookReplayForm,
} from "../../../wire/webhooks/delivery.ts";
import {
  newWebhookAnswer,
  webhookChangeForm,
  webhookAnswer,
  webhookCreateForm,
  webhookDeletionSchema,
} from "../../../wire/webhooks/webhook.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { endpoints } from "../../endpoints/endpoint.ts";
import { readsPage } from "../../memory-budget/stored-reads.ts";

export function webhookRoutes(app: FastifyInstance, { webhooks }: HttpDependencies): void {
  const on = endpoints(app, { tag: "webhooks", scheme: "bearer" });
  const one = { answer: "The webhook.", json: webhookAnswer.schema };
  on(
    "POST /v1/preview/webhooks",
    {
      summary: "Create a webhook",
      body: webhookCreateForm,
      answer: "The webhook with its secret, which no other answer contains.",
      json: newWebhookAnswer.schema,
    },
    async ({ body, caller }) => newWebhookAnswer.body(await webhooks.create(body, caller)),
  );
  on(
    "GET /v1/preview/webhooks",
    {
      summary: "List webhooks",
      query: pageQuerySchema,
      answer: "A page of webhooks, newest first by default.",
      json: pageSchema(webhookAnswer.schema),
    },
    ({ query, caller }) => pageAnswer(webhooks.list(pageRequest(query, "desc"), caller), webhookAnswer.body),
  );
  on(
    "GET /v1/preview/webhooks/:webhook_id",
    { summary: "Read a webhook", ...one },
    async ({ params, caller }) => webhookAnswer.body(await webhooks.find(params.webhook_id, caller)),
  );
  on(
    "POST /v1/preview/webhooks/:webhook_id",
    {
      summary: "Change a webhook",
      description:
        "Fields that are absent keep their values. The change applies to later events. The secret does not change.",
      body: webhookChangeForm,
      ...one,
    },
    async ({ params, body: { enabled, ...choice }, caller }) => {
      const isEnabled = enabled ?? undefined;
      return webhookAnswer.body(await webhooks.change(params.webhook_id, { ...choice, isEnabled }, caller));
    },
  );
  on(
    "DELETE /v1/preview/webhooks/:webhook_id",
    {
      summary: "Delete a webhook and its deliveries",
      answer: "The id of the deleted webhook.",
      json: webhookDeletionSchema,
    },
    async ({ params: { webhook_id: id }, caller }) => {
      await webhooks.delete(id, caller);
      return { id, deleted: true };
    },
  );
  on(
    "GET /v1/preview/webhooks/:webhook_id/deliveries",
    {
      summary: "List the deliveries of a webhook",
      query: deliveryQuerySchema,
      answer: "A page of deliveries, newest first by default.",
      json: pageSchema(deliveryAnswer.schema),
      options: readsPage,
    },
    ({ params, query, caller }) => {
      const filter = { state: query.state ?? null };
      const page = pageRequest(query, "desc");
      return pageAnswer(
        webhooks.listDeliveries(params.webhook_id, filter, page, caller),
        deliveryAnswer.body,
      );
    },
  );
  on(
    "POST /v1/preview/webhooks/:webhook_id/replay",
    {
      summary: "Resend deliveries of a webhook",
      description:
        "Resends one delivery, or all deliveries that failed since a time. Resent deliveries keep their ids.",
      find: ({ webhook_id: id }, caller) => webhooks.find(id, caller),
      body: webhookReplayForm,
      answer: "The number of deliveries to resend.",
      json: replayAnswerSchema,
      // `find` has already found the webhook, so an object that is not found here is a delivery.
      fieldPaths: { not_found: ["body", "delivery_id"] },
    },
    async ({ found, body, caller }) => {
      const { count, hasMore } = await webhooks.replay(found.id, replayed(body), caller);
      return { replayed: count, has_more: hasMore };
    },
  );
}
