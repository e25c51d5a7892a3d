// Contract of the store of webhooks and deliveries. Other stores add an event in the same transaction as the change it
// reports, so an acknowledged record always has its event.
import type { Page, PageRequest } from "../page.ts";
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryState,
  NewWebhook,
  Webhook,
  WebhookChoice,
} from "./webhook.ts";

/** Outcome of an attempt. */
export type DeliveryOutcome =
  | { readonly state: "delivered"; readonly at: Date }
  | { readonly state: "failed"; readonly at: Date }
  | { readonly state: "pending"; readonly dueAt: Date };

export interface WebhookStore {
  /** @throws ServiceError `conflict` if the entity already has `countMax` webhooks */
  create(webhook: NewWebhook, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<Webhook | null>;
  list(filter: { readonly entity: string | null }, page: PageRequest): Promise<Page<Webhook>>;
  /** Returns null if there is no such webhook. */
  change(id: string, choice: Partial<WebhookChoice>): Promise<Webhook | null>;
  /**
   * Resumes deliveries. Events from the pause are lost; failed deliveries may be replayed. Returns null if there is no
   * such webhook.
   */
  enable(id: string): Promise<Webhook | null>;
  /** Stops events and fails pending deliveries. Does nothing if the webhook is disabled. */
  disable(id: string, reason: string, at: Date): Promise<void>;
  /** Deletes the webhook and its deliveries. Returns false if there is no such webhook. */
  delete(id: string): Promise<boolean>;

  /** @throws ServiceError `invalid` if `after` names no delivery of the webhook */
  listDeliveries(
    webhookId: string,
    filter: { readonly state: DeliveryState | null },
    page: PageRequest,
  ): Promise<Page<Delivery>>;
  findDelivery(webhookId: string, id: string): Promise<Delivery | null>;
  /**
   * Replays finished deliveries: one, or all that failed since a time, up to `countMax`.
   *
   * @returns how many
   */
  replay(
    webhookId: string,
    which: { readonly id: string } | { readonly failedSince: Date },
    options: { readonly at: Date; readonly countMax: number },
  ): Promise<number>;

  /** Returns enabled webhooks with a due delivery, in any order. */
  withDue(at: Date): Promise<readonly Pick<Webhook, "id" | "entity">[]>;
  /** Claims due deliveries, earliest first; no other server gets them before `until`. */
  claim(
    webhookId: string,
    claim: { readonly owner: string; readonly at: Date; readonly until: Date; readonly limit: number },
  ): Promise<readonly Delivery[]>;
  /**
   * Records an attempt and keeps the latest {@link attemptsKept}. Writes nothing if another owner has the delivery by
   * then.
   */
  settle(
    delivery: Pick<Delivery, "id" | "webhookId">,
    owner: string,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<void>;
  /**
   * Removes finished deliveries: those that ended before a time, and those beyond the `countMax` newest. A few
   * thousand at most in a call.
   *
   * @returns how many
   */
  deleteEnded(kept: { readonly endedBefore: Date; readonly countMax: number }): Promise<number>;
}

/** Number of latest attempts kept for each delivery. */
export const attemptsKept = 20;

/** A webhook with more pending deliveries is disabled, since its receiver does not take them. */
export const pendingMax = 100_000;

/** Maximum bytes of records, as stored, in one event; a larger record gets its own event. */
export const eventBytesMax = 1 << 20;
