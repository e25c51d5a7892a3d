// Contract of the store for webhooks and deliveries. Other stores add an event in the transaction of the change that it
// reports, so that no committed change lacks its event.
import type { Page, PageRequest } from "../page.ts";
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryState,
  NewWebhook,
  Webhook,
  WebhookChoice,
} from "./webhook.ts";

/** Outcome of an attempt to deliver an event. */
export type DeliveryOutcome =
  | { readonly state: "delivered"; readonly at: Date }
  | { readonly state: "failed"; readonly at: Date }
  | { readonly state: "pending"; readonly dueAt: Date };

export interface WebhookStore {
  /**
   * Stores a new webhook.
   *
   * @throws ServiceError `conflict` if the entity already has `countMax` webhooks
   */
  create(webhook: NewWebhook, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<Webhook | null>;
  list(filter: { readonly entity: string | null }, page: PageRequest): Promise<Page<Webhook>>;
  /** Changes the given fields of a webhook. Returns the changed webhook; null if there is no such webhook. */
  change(id: string, choice: Partial<WebhookChoice>): Promise<Webhook | null>;
  /**
   * Enables a webhook, so that deliveries begin again. Events that occurred while it was disabled are lost; failed
   * deliveries may be replayed. Returns null if there is no such webhook.
   */
  enable(id: string): Promise<Webhook | null>;
  /** Disables a webhook: it gets no more events, and its pending deliveries fail. Does nothing if it is disabled. */
  disable(id: string, reason: string, at: Date): Promise<void>;
  /** Deletes a webhook and its deliveries. Returns false if there is no such webhook. */
  delete(id: string): Promise<boolean>;

  /**
   * Returns the deliveries of a webhook.
   *
   * @throws ServiceError `invalid` if `after` names no delivery of the webhook
   */
  listDeliveries(
    webhookId: string,
    filter: { readonly state: DeliveryState | null },
    page: PageRequest,
  ): Promise<Page<Delivery>>;
  findDelivery(webhookId: string, id: string): Promise<Delivery | null>;
  /**
   * Replays finished deliveries: a single one, or up to `countMax` deliveries that have failed since a time.
   *
   * @returns the number of replayed deliveries
   */
  replay(
    webhookId: string,
    which: { readonly id: string } | { readonly failedSince: Date },
    options: { readonly at: Date; readonly countMax: number },
  ): Promise<number>;

  /** Returns enabled webhooks for which a delivery is due, in any order. */
  withDue(at: Date): Promise<readonly Pick<Webhook, "id" | "entity">[]>;
  /** Claims deliveries that are due, the earliest first. No other server can claim them before `until`. */
  claim(
    webhookId: string,
    claim: { readonly owner: string; readonly at: Date; readonly until: Date; readonly limit: number },
  ): Promise<readonly Delivery[]>;
  /**
   * Records an attempt. Only the latest {@link attemptsKept} attempts of a delivery are kept. Writes nothing if another
   * server has claimed the delivery by now.
   */
  settle(
    delivery: Pick<Delivery, "id" | "webhookId">,
    owner: string,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<void>;
  /**
   * Deletes finished deliveries that ended before a time, and those beyond the newest `countMax`. Each call deletes at
   * most a few thousand.
   *
   * @returns the number of deleted deliveries
   */
  deleteEnded(kept: { readonly endedBefore: Date; readonly countMax: number }): Promise<number>;
}

/** Number of attempts that are kept for each delivery. Older ones are deleted. */
export const attemptsKept = 20;

/**
 * Maximum number of pending deliveries of a webhook. Beyond it, Hone disables the webhook, because its receiver accepts
 * no deliveries.
 */
export const pendingMax = 100_000;

/** Maximum size in bytes of the records in one event, as stored. A larger record gets an event for itself. */
export const eventBytesMax = 1 << 20;
