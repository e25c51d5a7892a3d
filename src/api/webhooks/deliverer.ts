// Sends due webhook deliveries, with separate limits for each entity and each webhook, so that a slow receiver does not
// delay other receivers' events. Several servers may share a database: each claims the deliveries that it sends. If a
// server dies before it records a result, another sends the delivery again.
import type { Clock } from "../../base/domain/clock.ts";
import { newUuid, type Random } from "../../base/domain/random.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import type { Delivery, DeliveryAttempt, Webhook } from "../../base/domain/webhooks/webhook.ts";
import type { DeliveryOutcome, WebhookStore } from "../../base/domain/webhooks/webhook-store.ts";
import type { Logger } from "../../base/telemetry/logger.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import type { EgressAllowlist } from "./egress-allowlist.ts";
import { waitMs } from "./retry-plan.ts";
import { sendRequest, UnreachableReceiver, type SentRequest } from "./send-request.ts";
import type { WebhookSettings } from "./settings.ts";
import { signedHeaders } from "./signature.ts";

export interface DelivererDependencies {
  readonly store: WebhookStore;
  /** Returns the event of a delivery as JSON. */
  readonly writeEventBody: (delivery: Delivery) => Promise<string>;
  readonly allowed: EgressAllowlist;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: Metrics;
  readonly logger: Logger;
}

/**
 * Result of one attempt to send an event. The receiver's answer may also say when to retry, or that no event should be
 * sent again.
 */
interface Sent {
  readonly attempt: DeliveryAttempt;
  readonly retryAfterSeconds: number | null;
  /** True if the receiver says that it is gone permanently. */
  readonly isGone: boolean;
}

/**
 * Time in milliseconds by which a claim outlasts the request timeout. If a claim expires without a result, its server
 * has died.
 */
const claimReserveMs = 30_000;

export class Deliverer implements Service {
  readonly #dependencies: DelivererDependencies;
  readonly #settings: WebhookSettings;
  readonly #owner = newUuid();
  readonly #sending = new Set<Promise<void>>();
  /** Number of requests in progress, by webhook and by entity. */
  readonly #ofWebhook = new Map<string, number>();
  readonly #ofEntity = new Map<string, number>();
  readonly #attempts: ReturnType<Metrics["counter"]>;
  #running: readonly Promise<void>[] = [];
  #stopping: AbortSignal = new AbortController().signal;
  readonly #life = serviceOf("webhooks", {
    start: async (signal) => {
      this.#stopping = signal;
      this.#running = [this.#keepSending(signal), this.#keepSweeping(signal)];
    },
    stop: async () => {
      await Promise.all(this.#running);
      // Waits for running requests, which the signal interrupts. This server, or another one, sends their deliveries
      // again later.
      await Promise.all(this.#sending);
    },
  });

  constructor(dependencies: DelivererDependencies, settings: WebhookSettings) {
    this.#dependencies = dependencies;
    this.#settings = settings;
    const { metrics } = dependencies;
    this.#attempts = metrics.counter({
      name: "hone_webhook_attempts_total",
      help: "Finished requests to webhook receivers, by outcome.",
      labels: ["outcome"],
      known: [{ outcome: "delivered" }, { outcome: "failed" }],
    });
    metrics.gauge(
      { name: "hone_webhook_requests", help: "Requests to webhook receivers in progress." },
      () => [{ value: this.#sending.size }],
    );
  }

  start(): Promise<void> {
    return this.#life.start();
  }

  stop(): Promise<void> {
    return this.#life.stop();
  }

  async #keepSending(signal: AbortSignal): Promise<void> {
    const { logger } = this.#dependencies;
    while (!signal.aborted) {
      const isFull = await this.#begin(signal).catch((error: unknown) => {
        logger.warn({ err: error }, "webhook deliveries could not be read; trying again");
        return false;
      });
      await this.#rest(isFull, signal);
    }
  }

  /** Waits until the next poll. If limits left due deliveries unsent, waits only until a request has ended. */
  async #rest(isFull: boolean, signal: AbortSignal): Promise<void> {
    const { clock } = this.#dependencies;
    const awake = new AbortController();
    const isLater = clock
      .sleep(this.#settings.lookMs, { signal: AbortSignal.any([signal, awake.signal]) })
      .catch(() => undefined);
    await (isFull ? Promise.race([isLater, ...this.#sending]) : isLater);
    awake.abort();
  }

  /**
   * Starts sending due deliveries, as many as the limits allow.
   *
   * @returns true if the limits may have left due deliveries unsent
   */
  async #begin(signal: AbortSignal): Promise<boolean> {
    const { store, clock } = this.#dependencies;
    let isFull = false;
    for (const webhook of await store.withDue(clock.now())) {
      if (signal.aborted) return false;
      const room = this.#roomFor(webhook);
      if (room <= 0) {
        isFull = true;
        continue;
      }
      const at = clock.now();
      const until = new Date(at.getTime() + this.#settings.timeoutSeconds * 1000 + claimReserveMs);
      const claimed = await store.claim(webhook.id, { owner: this.#owner, at, until, limit: room });
      isFull ||= claimed.length === room;
      for (const delivery of claimed) this.#send(webhook, delivery);
    }
    return isFull;
  }

  #roomFor({ id, entity }: Pick<Webhook, "id" | "entity">): number {
    const { sendingMax, sendingPerEntity, sendingPerWebhook } = this.#settings;
    return Math.min(
      sendingMax - this.#sending.size,
      sendingPerEntity - (this.#ofEntity.get(entity) ?? 0),
      sendingPerWebhook - (this.#ofWebhook.get(id) ?? 0),
    );
  }

  #send({ id, entity }: Pick<Webhook, "id" | "entity">, delivery: Delivery): void {
    change(this.#ofWebhook, id, 1);
    change(this.#ofEntity, entity, 1);
    const sending = this.#deliver(delivery)
      .catch((error: unknown) => {
        // A stop interrupted the attempt. No warning is needed, because the delivery is due again when its claim
        // expires.
        if (this.#stopping.aborted) return;
        this.#dependencies.logger.warn(
          { err: error, deliveryId: delivery.id },
          "a webhook's event was not sent",
        );
      })
      .finally(() => {
        this.#sending.delete(sending);
        change(this.#ofWebhook, id, -1);
        change(this.#ofEntity, entity, -1);
      });
    this.#sending.add(sending);
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { store, writeEventBody } = this.#dependencies;
    const webhook = await store.find(delivery.webhookId);
    if (webhook === null || webhook.disabled !== null) return;
    const sent = await this.#post(webhook, delivery, await writeEventBody(delivery));
    this.#attempts.increase({ outcome: sent.attempt.error === null ? "delivered" : "failed" });
    await store.settle(delivery, this.#owner, sent.attempt, this.#outcomeOf(delivery, sent));
    if (sent.attempt.error !== null) await this.#disableIfLong(webhook, sent);
  }

  async #post({ url, secret }: Webhook, { id }: Delivery, body: string): Promise<Sent> {
    const { allowed, clock, userAgent } = this.#dependencies;
    const { timeoutSeconds } = this.#settings;
    const attempt = { at: clock.now(), status: null, answer: "" };
    const startMs = clock.monotonicMs();
    const headers = { "user-agent": userAgent, ...signedHeaders(secret, { id, at: attempt.at, body }) };
    const late = new AbortController();
    const timer = clock
      .sleep(timeoutSeconds * 1000, { signal: late.signal })
      .then(() => late.abort(new UnreachableReceiver(`no answer within ${timeoutSeconds} s`)))
      .catch(() => undefined);
    const durationMs = (): number => Math.round(clock.monotonicMs() - startMs);
    try {
      const signal = AbortSignal.any([late.signal, this.#stopping]);
      const answer = await sendRequest({ url, headers, body }, allowed, { signal });
      const { status, answer: text, retryAfterSeconds } = answer;
      return {
        attempt: { ...attempt, durationMs: durationMs(), status, answer: text, error: faultOf(answer) },
        retryAfterSeconds,
        isGone: isGone(answer),
      };
    } catch (error) {
      if (!(error instanceof UnreachableReceiver)) throw error;
      const failed = { ...attempt, durationMs: durationMs(), error: error.message };
      return { attempt: failed, retryAfterSeconds: null, isGone: false };
    } finally {
      late.abort();
      await timer;
    }
  }

  #outcomeOf({ attempts, triedSince }: Delivery, sent: Sent): DeliveryOutcome {
    const { clock, random } = this.#dependencies;
    const at = clock.now();
    if (sent.attempt.error === null) return { state: "delivered", at };
    const count = attempts.filter((attempt) => attempt.at >= triedSince).length + 1;
    const dueAt = new Date(at.getTime() + waitMs(count, random.uniform(), sent.retryAfterSeconds));
    const endMs = triedSince.getTime() + this.#settings.retryHours * 3_600_000;
    return dueAt.getTime() > endMs || sent.isGone ? { state: "failed", at } : { state: "pending", dueAt };
  }

  async #disableIfLong({ id, failingSince }: Webhook, { attempt, isGone: gone }: Sent): Promise<void> {
    const { store, clock, logger } = this.#dependencies;
    const now = clock.now();
    const { disableHours } = this.#settings;
    const isLong = failingSince !== null && now.getTime() - failingSince.getTime() > disableHours * 3_600_000;
    if (!isLong && !gone) return;
    const since = gone ? "Its receiver answered 410 (Gone)." : `No delivery succeeded for ${disableHours} h.`;
    await store.disable(id, `${since} Its last answer: ${attempt.error ?? ""}.`, now);
    logger.warn({ webhookId: id }, "a webhook was disabled");
  }

  async #keepSweeping(signal: AbortSignal): Promise<void> {
    const { store, clock, logger } = this.#dependencies;
    const { keepDays, endedMax: countMax, sweepMs } = this.#settings;
    while (!signal.aborted) {
      const endedBefore = new Date(clock.now().getTime() - keepDays * 86_400_000);
      const removed = await store.deleteEnded({ endedBefore, countMax }).catch((error: unknown) => {
        logger.warn({ err: error }, "old webhook deliveries could not be removed; trying again");
        return 0;
      });
      // Deletes in batches, so that other transactions can write in between.
      await clock.sleep(removed > 0 ? 100 : sweepMs, { signal }).catch(() => undefined);
    }
  }
}

function change(counts: Map<string, number>, key: string, by: number): void {
  const value = (counts.get(key) ?? 0) + by;
  if (value === 0) counts.delete(key);
  else counts.set(key, value);
}

/** Returns the reason why an answer counts as a failure; null if it is a success. */
function faultOf({ status }: SentRequest): string | null {
  if (status >= 200 && status < 300) return null;
  const isRedirect = status >= 300 && status < 400;
  return `status ${status}${isRedirect ? "; redirects are not followed" : ""}`;
}

function isGone({ status }: SentRequest): boolean {
  return status === 410;
}
