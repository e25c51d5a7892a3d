// Finds a webhook by its id, an id prefix, its URL or the URL's host; and a delivery by its id or an id prefix.
import { isUuid } from "../../../base/domain/random.ts";
import type { Webhook } from "../../client/api.ts";
import type { Hone } from "../../client/hone.ts";
import { findById } from "../names/find-by-id.ts";

/**
 * Returns the webhook that the user means by `typed`.
 *
 * @throws HoneError for an unknown full id; ServiceError `not_found` if there is none, `invalid` if there are several
 */
export async function findWebhook(client: Hone, typed: string): Promise<Webhook> {
  if (isUuid(typed)) return client.webhooks.get(typed);
  return findById(typed, client.webhooks.list({}), {
    noun: "webhook",
    list: "hone webhooks",
    isNamed: ({ url }) => [url, new URL(url).host].includes(typed),
  });
}

/** Returns the id of one of a webhook's deliveries; the id's beginning is enough. Does not check a full id. */
export async function findDeliveryId(client: Hone, webhookId: string, typed: string): Promise<string> {
  if (isUuid(typed.replace(/^msg_/, ""))) return typed;
  const list = `hone webhooks deliveries ${webhookId}`;
  const prefix = typed.startsWith("msg_") ? typed : `msg_${typed}`;
  return (await findById(prefix, client.webhooks.deliveries(webhookId, {}), { noun: "delivery", list })).id;
}
