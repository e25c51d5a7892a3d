// Calls about webhooks, to which a server sends events automatically, and about their deliveries.
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/webhooks";
const one = "/v1/preview/webhooks/{webhook_id}";

/** `hone.webhooks` */
export class WebhookCalls extends CallGroup {
  /** Creates a webhook; only this answer contains the secret. */
  readonly create = this.send(`POST ${all}`);
  /** Lists webhooks, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the given fields; `enabled: true` enables a disabled webhook again. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /** Deletes a webhook with its deliveries. */
  readonly delete = this.call(`DELETE ${one}`);
  /** Lists deliveries, newest first by default. */
  readonly deliveries = this.pages(`GET ${one}/deliveries`);
  /** Replays one delivery, or all that failed since a time. */
  readonly replay = this.send(`POST ${one}/replay`);
}
