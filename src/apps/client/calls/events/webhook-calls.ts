// Webhooks: where a server sends events by itself, and what became of them.
import type {
  NewWebhook,
  Page,
  Webhook,
  WebhookChange,
  WebhookCreate,
  WebhookDelivery,
  WebhookReplay,
} from "../../api.ts";
import type { RequestOptions } from "../../connection.ts";
import type { Pages } from "../../pages.ts";
import { CallGroup } from "../call-group.ts";
import type { AnswerOf, QueryOf } from "../calls.ts";

const all = "/v1/preview/webhooks";
const one = `${all}/{webhook_id}` as const;

/** `hone.webhooks` */
export class WebhookCalls extends CallGroup {
  /** The only answer that has the secret. */
  create(body: WebhookCreate, options?: RequestOptions): Promise<NewWebhook> {
    return this.calls.value(`POST ${all}`, { body }, options);
  }

  /** The newest first unless asked. */
  list(query: QueryOf<`GET ${typeof all}`> = {}, options?: RequestOptions): Pages<Webhook, Page<Webhook>> {
    return this.calls.pages(`GET ${all}`, { query }, options);
  }

  get(id: string, options?: RequestOptions): Promise<Webhook> {
    return this.calls.value(`GET ${one}`, { path: { webhook_id: id } }, options);
  }

  /** What is named changes; `enabled: true` has one send again that was disabled. */
  change(id: string, body: WebhookChange, options?: RequestOptions): Promise<Webhook> {
    const sent = { isRepeatable: true, ...options };
    return this.calls.value(`POST ${one}`, { path: { webhook_id: id }, body }, sent);
  }

  /** With its deliveries. */
  delete(id: string, options?: RequestOptions): Promise<AnswerOf<`DELETE ${typeof one}`>> {
    return this.calls.value(`DELETE ${one}`, { path: { webhook_id: id } }, options);
  }

  /** What became of its events, the newest first unless asked. */
  deliveries(
    id: string,
    query: QueryOf<`GET ${typeof one}/deliveries`> = {},
    options?: RequestOptions,
  ): Pages<WebhookDelivery, Page<WebhookDelivery>> {
    return this.calls.pages(`GET ${one}/deliveries`, { path: { webhook_id: id }, query }, options);
  }

  /** Has one delivery sent again, or all that failed since a time. */
  replay(
    id: string,
    body: WebhookReplay,
    options?: RequestOptions,
  ): Promise<AnswerOf<`POST ${typeof one}/replay`>> {
    return this.calls.value(`POST ${one}/replay`, { path: { webhook_id: id }, body }, options);
  }
}
