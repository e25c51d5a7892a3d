// Stores webhooks and their deliveries. The outbox adds events for delivery.
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { WebhookStore } from "../../../base/domain/webhooks/webhook-store.ts";
import type { Connection } from "../dialect.ts";
import { readPage, nextSequence } from "../paging.ts";
import { deliveryQueries } from "./deliveries.ts";
import type { Outbox } from "./outbox.ts";
import { disableWebhook, findWebhook, webhookColumns, webhookOf } from "./webhook-rows.ts";

/** Creates the webhook store on a migrated database. */
export function createWebhookStore(
  connection: Pick<Connection, "queries" | "form">,
  outbox: Outbox,
): WebhookStore {
  const { queries: database } = connection;
  return {
    create: async (webhook, { countMax }) => {
      outbox.expectWebhooks();
      await database.transaction().execute(async (transaction) => {
        // This statement comes first, because it is a lock: concurrent creations could otherwise exceed the maximum.
        const sequence = await nextSequence(transaction, "webhooks");
        const { count } = await transaction
          .selectFrom("webhooks")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("entity", "=", webhook.entity)
          .executeTakeFirstOrThrow();
        if (count >= countMax) throw tooMany(webhook.entity, countMax);
        await transaction
          .insertInto("webhooks")
          .values({
            id: webhook.id,
            sequence,
            entity: webhook.entity,
            ...webhookColumns.write(webhook),
            secret: webhook.secret,
            created_at: webhook.createdAt.toISOString(),
          })
          .execute();
      });
    },
    find: (id) => findWebhook(database, id),
    list: ({ entity }, page) => {
      let rows = database.selectFrom("webhooks").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      const orderValueOf = async (id: string) =>
        (await rows.clearSelect().select("sequence").where("id", "=", id).executeTakeFirst())?.sequence;
      return readPage(
        {
          rows,
          orderColumn: "sequence",
          contentColumns: [...webhookColumns.texts, "disabled_reason"],
          orderValueOf,
          itemOf: webhookOf,
        },
        page,
      );
    },
    change: async (id, choice) => {
      const columns = webhookColumns.writeSome(choice);
      if (Object.keys(columns).length > 0)
        await database.updateTable("webhooks").set(columns).where("id", "=", id).execute();
      return findWebhook(database, id);
    },
    enable: async (id) => {
      await database
        .updateTable("webhooks")
        .set({ disabled_at: null, disabled_reason: null, failing_since: null })
        .where("id", "=", id)
        .execute();
      return findWebhook(database, id);
    },
    disable: (id, reason, at) =>
      database.transaction().execute((transaction) => disableWebhook(transaction, id, reason, at)),
    delete: async (id) => {
      const { numDeletedRows } = await database
        .deleteFrom("webhooks")
        .where("id", "=", id)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
    ...deliveryQueries(connection),
  };
}

function tooMany(entity: string, countMax: number): ServiceError {
  return new ServiceError({
    code: "conflict",
    message: `The entity ${entity} has ${countMax} webhooks, the most that it may have. Delete one that is not needed.`,
  });
}
