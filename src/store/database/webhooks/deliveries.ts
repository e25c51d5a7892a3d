// Stores deliveries of webhooks: due times, claims, and the outcome of each attempt. A server claims a delivery before
// it attempts it. If the server dies, the claim expires, the delivery is due again, and another server takes it over.
import { type Kysely, type SelectQueryBuilder, sql, type Transaction } from "kysely";
import type { DeliveryAttempt } from "../../../base/domain/webhooks/webhook.ts";
import {
  attemptsKept,
  type DeliveryOutcome,
  type WebhookStore,
} from "../../../base/domain/webhooks/webhook-store.ts";
import type { Connection } from "../dialect.ts";
import { readPage } from "../paging.ts";
import type { Schema } from "../schema.ts";
import { attemptsOf, deliveryOf, lockWebhook } from "./webhook-rows.ts";

type DeliveryQueries = Pick<
  WebhookStore,
  "listDeliveries" | "findDelivery" | "replay" | "withDue" | "claim" | "settle" | "deleteEnded"
>;

/** Maximum number of rows that one SQL statement deletes. */
const removedMax = 1000;

export function deliveryQueries({
  queries: database,
  form,
}: Pick<Connection, "queries" | "form">): DeliveryQueries {
  const ofWebhook = (webhookId: string) =>
    database.selectFrom("webhook_deliveries").selectAll().where("webhook_id", "=", webhookId);
  return {
    listDeliveries: (webhookId, { state }, page) => {
      const places = ofWebhook(webhookId);
      return readPage(
        {
          rows: state === null ? places : places.where("state", "=", state),
          orderColumn: "sequence",
          contentColumns: ["subject", "attempts"],
          // Includes finished deliveries, so that a cursor stays valid after its delivery has finished.
          orderValueOf: async (id) =>
            (await places.clearSelect().select("sequence").where("id", "=", id).executeTakeFirst())?.sequence,
          itemOf: deliveryOf,
        },
        page,
      );
    },
    findDelivery: async (webhookId, id) => {
      const row = await ofWebhook(webhookId).where("id", "=", id).executeTakeFirst();
      return row === undefined ? null : deliveryOf(row);
    },
    replay: (webhookId, which, options) =>
      database.transaction().execute((transaction) => replay(transaction, webhookId, which, options)),
    withDue: async (at) =>
      await database
        .selectFrom("webhooks")
        .select(["id", "entity"])
        .where("disabled_at", "is", null)
        .where((row) =>
          row.exists(
            row
              .selectFrom("webhook_deliveries")
              .select("webhook_deliveries.id")
              .whereRef("webhook_deliveries.webhook_id", "=", "webhooks.id")
              .where("webhook_deliveries.due_at", "<=", at.toISOString()),
          ),
        )
        .execute(),
    claim: async (webhookId, { owner, at, until, limit }) => {
      const rows = await database
        // Uses a separate common table expression, because the database evaluates it only once. The statement therefore
        // locks exactly the rows that it returns.
        .with("due", (queries) =>
          queries
            .selectFrom("webhook_deliveries")
            .select("id")
            .where("webhook_id", "=", webhookId)
            .where("due_at", "<=", at.toISOString())
            .orderBy("due_at")
            .orderBy("sequence")
            .limit(limit)
            .modifyEnd(sql.raw(form.lockUnlocked("webhook_deliveries"))),
        )
        .updateTable("webhook_deliveries")
        .set({ owner, due_at: until.toISOString() })
        .where("id", "in", (queries) => queries.selectFrom("due").select("due.id"))
        // Checks the due time again, because another server may have claimed the row meanwhile.
        .where("due_at", "<=", at.toISOString())
        .returningAll()
        .execute();
      return rows.sort((one, other) => one.sequence - other.sequence).map(deliveryOf);
    },
    settle: (delivery, owner, attempt, outcome) =>
      database.transaction().execute(async (transaction) => {
        // Locks the webhook before the delivery, in the same order as the code that adds events, to avoid deadlocks.
        if (!(await lockWebhook(transaction, delivery.webhookId))) return;
        await settle(transaction, { ...delivery, owner }, attempt, outcome);
      }),
    deleteEnded: async ({ endedBefore, countMax }) => {
      const ended = database.selectFrom("webhook_deliveries").select("id");
      let count = await removeRows(database, ended.where("ended_at", "<", endedBefore.toISOString()));
      const long = await database
        .selectFrom("webhooks")
        .select(["id", "last_sequence"])
        .where("last_sequence", ">", countMax)
        .execute();
      for (const { id, last_sequence: last } of long) {
        const older = ended.where("webhook_id", "=", id).where("sequence", "<=", last - countMax);
        count += await removeRows(database, older.where("ended_at", "is not", null));
      }
      return count;
    },
  };
}

/** Makes deliveries due immediately if the server that claimed them no longer exists. */
export async function freeClaims(database: Kysely<Schema>): Promise<void> {
  await database
    .updateTable("webhook_deliveries")
    .set((row) => ({ owner: null, due_at: row.ref("tried_since") }))
    .where("owner", "is not", null)
    .execute();
}

async function removeRows(
  database: Kysely<Schema>,
  rows: SelectQueryBuilder<Schema, "webhook_deliveries", { id: string }>,
): Promise<number> {
  const { numDeletedRows } = await database
    .deleteFrom("webhook_deliveries")
    .where("id", "in", rows.limit(removedMax))
    .executeTakeFirst();
  return Number(numDeletedRows);
}

async function replay(
  transaction: Transaction<Schema>,
  webhookId: string,
  which: Parameters<WebhookStore["replay"]>[1],
  { at, countMax }: { readonly at: Date; readonly countMax: number },
): Promise<number> {
  if (!(await lockWebhook(transaction, webhookId))) return 0;
  let wanted = transaction
    .selectFrom("webhook_deliveries")
    .select("id")
    .where("webhook_id", "=", webhookId)
    .where("state", "!=", "pending");
  wanted =
    "id" in which
      ? wanted.where("id", "=", which.id)
      : wanted.where("state", "=", "failed").where("ended_at", ">=", which.failedSince.toISOString());
  const time = at.toISOString();
  const { numUpdatedRows } = await transaction
    .updateTable("webhook_deliveries")
    .set({ state: "pending", due_at: time, tried_since: time, ended_at: null, owner: null })
    .where("id", "in", wanted.orderBy("sequence").limit(countMax))
    .executeTakeFirst();
  const count = Number(numUpdatedRows);
  await transaction
    .updateTable("webhooks")
    .set((row) => ({ pending_count: row("pending_count", "+", count) }))
    .where("id", "=", webhookId)
    .execute();
  return count;
}

async function settle(
  transaction: Transaction<Schema>,
  { id, webhookId, owner }: { readonly id: string; readonly webhookId: string; readonly owner: string },
  attempt: DeliveryAttempt,
  outcome: DeliveryOutcome,
): Promise<void> {
  const row = await transaction
    .selectFrom("webhook_deliveries")
    .select("attempts")
    .where("id", "=", id)
    .where("owner", "=", owner)
    .executeTakeFirst();
  if (row === undefined) return;
  const attempts = [...attemptsOf(row.attempts), attempt].slice(-attemptsKept);
  const isOver = outcome.state !== "pending";
  const updated = await transaction
    .updateTable("webhook_deliveries")
    .set((columns) => ({
      state: outcome.state,
      owner: null,
      due_at: isOver ? null : outcome.dueAt.toISOString(),
      ended_at: isOver ? outcome.at.toISOString() : null,
      attempts: JSON.stringify(attempts),
      attempt_count: columns("attempt_count", "+", 1),
    }))
    .where("id", "=", id)
    // Makes sure that the claim is still valid: the claim may have expired, and another server may have claimed the
    // delivery.
    .where("owner", "=", owner)
    .executeTakeFirst();
  if (updated.numUpdatedRows === 0n) return;
  await transaction
    .updateTable("webhooks")
    .set((columns) => ({
      pending_count: columns("pending_count", "-", isOver ? 1 : 0),
      failing_since:
        outcome.state === "delivered"
          ? null
          : columns.fn.coalesce("failing_since", columns.val(attempt.at.toISOString())),
    }))
    .where("id", "=", webhookId)
    .execute();
}
