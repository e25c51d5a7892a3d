// What is kept of webhooks and their deliveries. Events come in by the stores of what they tell, in the transaction in
// which it happens: who was answered that a record is stored knows that its event is, too.
import type { Page, PageRequest } from "../page.ts";
import type {
  Delivery,
  DeliveryAttempt,
  DeliveryState,
  NewWebhook,
  Webhook,
  WebhookChoice,
} from "./webhook.ts";

/** What became of an attempt. */
export type DeliveryOutcome =
  | { readonly state: "delivered"; readonly at: Date }
  | { readonly state: "failed"; readonly at: Date }
  | { readonly state: "pending"; readonly dueAt: Date };

export interface WebhookStore {
  /** @throws ServiceError `conflict` where the entity has `countMax` of them */
  create(webhook: NewWebhook, limits: { readonly countMax: number }): Promise<void>;
  find(id: string): Promise<Webhook | null>;
  list(filter: { readonly entity: string | null }, page: PageRequest): Promise<Page<Webhook>>;
  /** Null where there is none. */
  change(id: string, choice: Partial<WebhookChoice>): Promise<Webhook | null>;
  /**
   * Events are sent again from now on; those that came meanwhile are lost, and those that failed may be replayed. Null
   * where there is none.
   */
  enable(id: string): Promise<Webhook | null>;
  /** No more events; what is on its way fails. Nothing happens to one that is disabled. */
  disable(id: string, reason: string, at: Date): Promise<void>;
  /** With its deliveries. False where there is none. */
  delete(id: string): Promise<boolean>;

  /** @throws ServiceError `invalid` when `after` names none of the webhook's */
  listDeliveries(
    webhookId: string,
    filter: { readonly state: DeliveryState | null },
    page: PageRequest,
  ): Promise<Page<Delivery>>;
  findDelivery(webhookId: string, id: string): Promise<Delivery | null>;
  /**
   * Has what is over sent again: one delivery, or all that failed then or later, up to `countMax`.
   *
   * @returns how many
   */
  replay(
    webhookId: string,
    which: { readonly id: string } | { readonly failedSince: Date },
    options: { readonly at: Date; readonly countMax: number },
  ): Promise<number>;

  /** The enabled webhooks that have a delivery due, in no order. */
  withDue(at: Date): Promise<readonly Pick<Webhook, "id" | "entity">[]>;
  /** Takes deliveries that are due, the first due first: nobody else does before `until`. */
  claim(
    webhookId: string,
    claim: { readonly owner: string; readonly at: Date; readonly until: Date; readonly limit: number },
  ): Promise<readonly Delivery[]>;
  /**
   * Writes down an attempt, beside the latest {@link attemptsKept}. Nothing is written where the delivery is not this
   * owner's any more.
   */
  settle(
    delivery: Pick<Delivery, "id" | "webhookId">,
    owner: string,
    attempt: DeliveryAttempt,
    outcome: DeliveryOutcome,
  ): Promise<void>;
  /**
   * Removes deliveries that are over: those that ended before a time, and those that have `countMax` newer ones beside
   * them. A few thousand at most.
   *
   * @returns how many
   */
  deleteEnded(kept: { readonly endedBefore: Date; readonly countMax: number }): Promise<number>;
}

/** The latest attempts of a delivery that are kept. */
export const attemptsKept = 20;

/** A webhook with more deliveries on their way than this is disabled: nobody takes what it is sent. */
export const pendingMax = 100_000;

/** Bytes of records, as stored, in one event; a record that has more comes alone. */
export const eventBytesMax = 1 << 20;
