// Calls for webhooks, to which the server sends events, and for their deliveries.
import { CallGroup } from "./call-group.ts";

const all = "/v1/preview/webhooks";
const one = "/v1/preview/webhooks/{webhook_id}";

/** The call group `hone.webhooks`. */
export class WebhookCalls extends CallGroup {
  /** Creates a webhook. Only this answer contains its secret. */
  readonly create = this.send(`POST ${all}`);
  /** Lists webhooks, newest first by default. */
  readonly list = this.pages(`GET ${all}`);
  readonly get = this.call(`GET ${one}`);
  /** Changes the given fields of a webhook; `enabled: true` enables a disabled one again. */
  readonly change = this.send(`POST ${one}`, { isRepeatable: true });
  /** Deletes a webhook and its deliveries. */
  readonly delete = this.call(`DELETE ${one}`);
  /** Lists a webhook's deliveries, newest first by default. */
  readonly deliveries = this.pages(`GET ${one}/deliveries`);
  /** Replays one delivery, or all deliveries that failed since a time. */
  readonly replay = this.send(`POST ${one}/replay`);
}
