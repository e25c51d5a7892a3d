// What webhooks go by: what an operator sets, and what is the same on every server.
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
  /** How long an event is tried again that a receiver did not take: over a weekend. Then its delivery has failed. */
  retryHours: 72,
  /** A webhook whose receiver took nothing for so long is disabled. */
  disableHours: 120,
  /** How long deliveries that are over can be read and replayed. */
  keepDays: 30,
  /** How long a receiver may take to answer, from its name to the end of its answer. */
  timeoutSeconds: 15,
  webhooksPerEntity: 100,
  /** URLs of new and changed webhooks whose names are looked up at once. */
  checksPerEntity: 4,
  /** Of one server, at once. */
  sendingMax: 32,
  sendingPerEntity: 8,
  sendingPerWebhook: 4,
  /** Between two looks for what is due. */
  lookMs: 1000,
  /** Between two looks for what is over and old. */
  sweepMs: 3_600_000,
  /** Deliveries that are over and kept, of one webhook. */
  endedMax: 100_000,
  /** Replayed by one request. */
  replayedMax: 10_000,
};

export const webhookSettings = section(schema, fixed);

export type WebhookSettings = SettingsIn<typeof webhookSettings>;
