// Webhooks: where a server sends events by itself, and what became of them.
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/webhooks";
const one = "/v1/preview/webhooks/{webhook_id}";

/** `hone.webhooks` */
export class WebhookCalls extends CallGroup {
  /** The only answer that has the secret. */
  readonly create = this.send(`POST ${all}`);
  /** The newest first unless asked. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the fields that are named; `enabled: true` enables a disabled webhook again. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /** Deletes it with its deliveries. */
  readonly delete = this.call(`DELETE ${one}`);
  /** What became of its events, the newest first unless asked. */
  readonly deliveries = this.pages(`GET ${one}/deliveries`);
  /** Sends one delivery again, or all that failed since a time. */
  readonly replay = this.send(`POST ${one}/replay`);
}
