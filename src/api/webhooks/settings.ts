// Webhook settings: those that an operator can change, and constants.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  allowed: {
    kind: "list",
    default: [],
    about:
      "Allowed webhook hosts: names (`hooks.example.com`, `*.example.com`), addresses and networks (`10.0.0.0/8`, `::1`). If empty, no webhook can send. An address or network allows only URLs with such an address, not names that resolve to it. A name that resolves to this machine, a link-local address or a cloud's metadata address is refused unless that address is listed too.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Period in which a delivery is retried after failures, long enough for a weekend; then the delivery has failed. */
  retryHours: 72,
  /** Time without a successful delivery after which a failing webhook is disabled. */
  disableHours: 120,
  /** Time for which finished deliveries can be read and replayed. */
  keepDays: 30,
  /** Timeout of a request, from name resolution to the end of the answer. */
  timeoutSeconds: 15,
  webhooksPerEntity: 100,
  /** Maximum number of URLs of new and changed webhooks that are resolved at the same time. */
  checksPerEntity: 4,
  /** Maximum number of requests in progress on one server. */
  sendingMax: 32,
  sendingPerEntity: 8,
  sendingPerWebhook: 4,
  /** Interval between polls for due deliveries. */
  lookMs: 1000,
  /** Interval between deletions of old deliveries. */
  sweepMs: 3_600_000,
  /** Maximum number of finished deliveries kept per webhook. */
  endedMax: 100_000,
  /** Maximum number of deliveries replayed by one request. */
  replayedMax: 10_000,
};

export const webhookSettings = section(schema, fixed);

export type WebhookSettings = SettingsIn<typeof webhookSettings>;
