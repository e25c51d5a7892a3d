// Webhook settings: first the settings that an operator can change, then constants.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  allowed: {
    kind: "list",
    default: [],
    about:
      "Allowed webhook hosts: names (`hooks.example.com`, `*.example.com`), addresses and networks (`10.0.0.0/8`, `::1`). If empty, no webhook can send. An entry that is an address or network allows only URLs that contain such an address, not names that resolve to such an address. A name that resolves to this machine, a link-local address or a cloud's metadata address is refused unless that address is listed too.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /**
   * Time in hours during which failed attempts of a delivery are retried, long enough for a weekend. After that, the
   * delivery has failed.
   */
  retryHours: 72,
  /** Time in hours without a successful delivery after which a failing webhook is disabled. */
  disableHours: 120,
  /** Time in days during which finished deliveries can be read and replayed. */
  keepDays: 30,
  /** Timeout in seconds of a request, from name resolution to the end of the answer. */
  timeoutSeconds: 15,
  webhooksPerEntity: 100,
  /** Maximum number of host names that are resolved at the same time for an entity's new and changed webhooks. */
  checksPerEntity: 4,
  /** Maximum number of requests to receivers in progress on one server. */
  sendingMax: 32,
  sendingPerEntity: 8,
  sendingPerWebhook: 4,
  /** Interval in milliseconds between polls for due deliveries. */
  lookMs: 1000,
  /** Interval in milliseconds between deletions of old deliveries. */
  sweepMs: 3_600_000,
  /** Maximum number of finished deliveries kept per webhook. */
  endedMax: 100_000,
  /** Maximum number of deliveries that one request can replay. */
  replayedMax: 10_000,
};

export const webhookSettings = section(schema, fixed);

export type WebhookSettings = SettingsIn<typeof webhookSettings>;
