// Converts webhooks and deliveries to rows and back. Also contains operations that several files use.
import type { Kysely, Selectable, Transaction } from "kysely";
import {
  type Delivery,
  type DeliveryAttempt,
  type DeliveryState,
  type Webhook,
  type WebhookEventType,
  webhookFields,
  type WebhookSubject,
} from "../../../base/domain/webhooks/webhook.ts";
import { columnsOf } from "../columns/resource-columns.ts";
import type { Schema, WebhookDeliveryTable, WebhookTable } from "../schema.ts";

export const webhookColumns = columnsOf(webhookFields);

export function webhookOf(row: Selectable<WebhookTable>): Webhook {
  return {
    id: row.id,
    entity: row.entity,
    ...webhookColumns.read(row),
    secret: row.secret,
    createdAt: new Date(row.created_at),
    disabled:
      row.disabled_at === null ? null : { at: new Date(row.disabled_at), reason: row.disabled_reason ?? "" },
    failingSince: dateOf(row.failing_since),
    pendingCount: row.pending_count,
  };
}

export function deliveryOf(row: Selectable<WebhookDeliveryTable>): Delivery {
  return {
    id: row.id,
    webhookId: row.webhook_id,
    // Safe casts: the store and the outbox wrote these values.
    type: row.type as WebhookEventType,
    subject: JSON.parse(row.subject) as WebhookSubject,
    createdAt: new Date(row.created_at),
    state: row.state as DeliveryState,
    attempts: attemptsOf(row.attempts),
    attemptCount: row.attempt_count,
    triedSince: new Date(row.tried_since),
    dueAt: dateOf(row.due_at),
    endedAt: dateOf(row.ended_at),
  };
}

export function attemptsOf(text: string): readonly DeliveryAttempt[] {
  // Safe cast: the store wrote this JSON. Only dates have another type in it: they became strings.
  const attempts = JSON.parse(text) as readonly (Omit<DeliveryAttempt, "at"> & { readonly at: string })[];
  return attempts.map((attempt) => ({ ...attempt, at: new Date(attempt.at) }));
}

/** Disables a webhook: nothing more is sent, and pending deliveries fail. Disabling a disabled webhook does nothing. */
export async function disableWebhook(
  transaction: Transaction<Schema>,
  id: string,
  reason: string,
  at: Date,
): Promise<void> {
  const disabled = await transaction
    .updateTable("webhooks")
    .set({ disabled_at: at.toISOString(), disabled_reason: reason, pending_count: 0 })
    .where("id", "=", id)
    .where("disabled_at", "is", null)
    .executeTakeFirst();
  if (disabled.numUpdatedRows === 0n) return;
  await transaction
    .updateTable("webhook_deliveries")
    .set({ state: "failed", due_at: null, owner: null, ended_at: at.toISOString() })
    .where("webhook_id", "=", id)
    .where("state", "=", "pending")
    .execute();
}

/**
 * Locks the row of a webhook. Transactions that change the webhook or add events to it wait until this transaction
 * ends.
 */
export async function lockWebhook(transaction: Transaction<Schema>, id: string): Promise<boolean> {
  const row = await transaction
    .updateTable("webhooks")
    .set((row) => ({ pending_count: row.ref("pending_count") }))
    .where("id", "=", id)
    .executeTakeFirst();
  return row.numUpdatedRows > 0n;
}

export async function findWebhook(database: Kysely<Schema>, id: string): Promise<Webhook | null> {
  const row = await database.selectFrom("webhooks").selectAll().where("id", "=", id).executeTakeFirst();
  return row === undefined ? null : webhookOf(row);
}

function dateOf(text: string | null): Date | null {
  return text === null ? null : new Date(text);
}
