// Settings of webhooks: those that an operator sets, and constants.
import { section, type SettingsIn, type SettingsSchema } from "../../base/domain/settings.ts";

const schema = {
  allowed: {
    kind: "list",
    default: [],
    about:
      "Allowed webhook hosts: names (`hooks.example.com`, `*.example.com`), addresses and networks (`10.0.0.0/8`, `::1`). If empty, webhooks send nowhere. A network allows addresses, not names that resolve to them. A name may resolve to this machine, a link-local address or a cloud's metadata address only if that address is listed too.",
  },
} as const satisfies SettingsSchema;

const fixed = {
  /** Time for which a failed event is retried, long enough for a weekend; then its delivery has failed. */
  retryHours: 72,
  /** Time after which a webhook without any successful delivery is disabled. */
  disableHours: 120,
  /** Time for which ended deliveries can be read and replayed. */
  keepDays: 30,
  /** Time for a receiver's answer, from name resolution to the end of the answer. */
  timeoutSeconds: 15,
  webhooksPerEntity: 100,
  /** Number of URLs of new and changed webhooks whose names are resolved at the same time. */
  checksPerEntity: 4,
  /** Requests in progress on one server. */
  sendingMax: 32,
  sendingPerEntity: 8,
  sendingPerWebhook: 4,
  /** Interval between looks for due deliveries. */
  lookMs: 1000,
  /** Interval between removals of old deliveries. */
  sweepMs: 3_600_000,
  /** Number of ended deliveries kept per webhook. */
  endedMax: 100_000,
  /** Number of deliveries replayed by one request. */
  replayedMax: 10_000,
};

export const webhookSettings = section(schema, fixed);

export type WebhookSettings = SettingsIn<typeof webhookSettings>;
