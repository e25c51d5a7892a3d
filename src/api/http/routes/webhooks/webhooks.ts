// Webhooks: making, listing, changing and deleting them, what became of their deliveries, and having these sent again.
import type { FastifyInstance } from "fastify";
import { notFound } from "../../../../base/domain/service-error.ts";
import { isUuid } from "../../../../base/domain/ids.ts";
import { pageAnswer, pageQuerySchema, pageRequest } from "../../../wire/page.ts";
import { locate } from "../../../wire/places.ts";
import {
  deliveryBody,
  deliveryPageSchema,
  deliveryQuerySchema,
  replayAnswerSchema,
  replayed,
  webhookReplayForm,
} from "../../../wire/webhooks/delivery.ts";
import {
  newWebhookSchema,
  webhookBody,
  webhookChange,
  webhookChangeForm,
  webhookCreateForm,
  webhookDeletionSchema,
  webhookPageSchema,
  webhookPlaces,
  webhookRequest,
  webhookSchema,
} from "../../../wire/webhooks/webhook.ts";
import type { HttpDependencies } from "../../dependencies.ts";
import { answered } from "../../documentation/document-routes.ts";
import { readQuery } from "../../input/query.ts";
import { readBody } from "../../input/read-body.ts";
import { readsPage } from "../../reading/stored-reads.ts";

const documented = { tags: ["webhooks"], security: [{ bearer: [] }] };
const path = "/v1/preview/webhooks";

interface WebhookPath {
  Params: { webhook_id: string };
}

const webhookParameters = {
  type: "object",
  properties: { webhook_id: { type: "string", description: "The webhook's id." } },
} as const;

export function webhookRoutes(app: FastifyInstance, { webhooks }: HttpDependencies): void {
  app.post(
    path,
    {
      schema: {
        summary: "Create a webhook",
        body: webhookCreateForm.schema,
        response: answered("The webhook, with its secret, which no other answer has.", {
          json: newWebhookSchema,
        }),
        ...documented,
      },
    },
    async (request, reply) => {
      const body = readBody(webhookCreateForm, request, reply);
      const webhook = await webhooks.create(webhookRequest(body), request.caller).catch(located);
      return { ...webhookBody(webhook), secret: webhook.secret };
    },
  );
  app.get(
    path,
    {
      schema: {
        summary: "List webhooks",
        querystring: pageQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: webhookPageSchema }),
        ...documented,
      },
    },
    (request, reply) => {
      const query = readQuery(pageQuerySchema, request, reply);
      return pageAnswer(webhooks.list(pageRequest(query, "desc"), request.caller), webhookBody);
    },
  );
  app.get<WebhookPath>(
    `${path}/:webhook_id`,
    {
      schema: {
        summary: "Read a webhook",
        params: webhookParameters,
        response: answered("The webhook.", { json: webhookSchema }),
        ...documented,
      },
    },
    async ({ params, caller }) => webhookBody(await webhooks.find(idIn(params), caller).catch(located)),
  );
  app.post<WebhookPath>(
    `${path}/:webhook_id`,
    {
      schema: {
        summary: "Change a webhook",
        description: "What is named changes, for events from then on; its secret stays.",
        params: webhookParameters,
        body: webhookChangeForm.schema,
        response: answered("The webhook.", { json: webhookSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const id = idIn(request.params);
      const change = webhookChange(readBody(webhookChangeForm, request, reply));
      return webhookBody(await webhooks.change(id, change, request.caller).catch(located));
    },
  );
  app.delete<WebhookPath>(
    `${path}/:webhook_id`,
    {
      schema: {
        summary: "Delete a webhook with its deliveries",
        params: webhookParameters,
        response: answered("What was deleted.", { json: webhookDeletionSchema }),
        ...documented,
      },
    },
    async ({ params, caller }) => {
      const id = idIn(params);
      await webhooks.delete(id, caller).catch(located);
      return { id, deleted: true };
    },
  );
  app.get<WebhookPath>(
    `${path}/:webhook_id/deliveries`,
    {
      ...readsPage,
      schema: {
        summary: "List the deliveries of a webhook",
        params: webhookParameters,
        querystring: deliveryQuerySchema,
        response: answered("A page of them, the newest first unless asked.", { json: deliveryPageSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const query = readQuery(deliveryQuerySchema, request, reply);
      const filter = { state: query.state ?? null };
      const page = webhooks.listDeliveries(
        idIn(request.params),
        filter,
        pageRequest(query, "desc"),
        request.caller,
      );
      return await pageAnswer(page, deliveryBody).catch(located);
    },
  );
  app.post<WebhookPath>(
    `${path}/:webhook_id/replay`,
    {
      schema: {
        summary: "Send deliveries of a webhook again",
        description: "One, or all that failed since a time, under the ids that they had.",
        params: webhookParameters,
        body: webhookReplayForm.schema,
        response: answered("How many are sent again.", { json: replayAnswerSchema }),
        ...documented,
      },
    },
    async (request, reply) => {
      const id = idIn(request.params);
      // Looked for first: what lacks behind it is a delivery.
      await webhooks.find(id, request.caller).catch(located);
      const which = replayed(readBody(webhookReplayForm, request, reply));
      const { count, hasMore } = await webhooks.replay(id, which, request.caller).catch((error: unknown) => {
        throw locate(error, { not_found: ["body", "delivery_id"] });
      });
      return { replayed: count, has_more: hasMore };
    },
  );
}

function idIn({ webhook_id: id }: WebhookPath["Params"]): string {
  if (isUuid(id)) return id.toLowerCase();
  return located(notFound("webhook", id));
}

function located(error: unknown): never {
  throw locate(error, { ...webhookPlaces, not_found: ["path", "webhook_id"] });
}
