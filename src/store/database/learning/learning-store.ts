// Stores which models learn while they are used, and which server runs their learning. Also stores the turns of
// recorded chats, which are used to find the next message of a chat.
import type { Kysely, Transaction } from "kysely";
import type { Learning, LearningStore } from "../../../base/domain/learning/learning-store.ts";
import { notFound } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { lockModel } from "../models/version-store.ts";
import type { Schema } from "../schema.ts";
import type { Outbox } from "../webhooks/outbox.ts";
import { activeCycle, cycleQueries, storeProgress } from "./cycle-store.ts";
import { lockHeld } from "./learning-lock.ts";
import { learningOf, noNotes } from "./learning-rows.ts";
import { turnQueries } from "./turn-store.ts";

export function createLearningStore(connection: Connection, outbox: Outbox): LearningStore {
  const { queries: database } = connection;
  return {
    put: (learning) => database.transaction().execute((transaction) => put(transaction, learning)),
    find: async (modelId) => {
      const row = await database
        .selectFrom("learning")
        .selectAll()
        .where("model_id", "=", modelId)
        .executeTakeFirst();
      return row === undefined ? null : learningOf(row);
    },
    remove: (modelId, at) =>
      database.transaction().execute(async (transaction) => {
        await lockModel(transaction, modelId);
        const { numDeletedRows } = await transaction
          .deleteFrom("learning")
          .where("model_id", "=", modelId)
          .executeTakeFirst();
        if (numDeletedRows === 0n) return undefined;
        await transaction.deleteFrom("learning_turns").where("model_id", "=", modelId).execute();
        const cycle = await activeCycle(transaction, modelId);
        if (cycle === null) return null;
        const isPromoted = cycle.stage === "watching";
        const stage = isPromoted ? "promoted" : "refused";
        const ended = {
          ...cycle,
          stage,
          endedAt: at,
          reason: "Learning was turned off.",
          waitingFor: null,
        } as const;
        await storeProgress(transaction, outbox, cycle, ended);
        return ended;
      }),
    claim: (owner) => claim(database, owner),
    note: (hold, notes) =>
      database.transaction().execute(async (transaction) => {
        if (!(await lockHeld(transaction, hold))) return;
        const row = await transaction
          .selectFrom("learning")
          .selectAll()
          .where("model_id", "=", hold.modelId)
          .executeTakeFirstOrThrow();
        const { signalCount, heldOutCount, fault } = { ...learningOf(row), ...notes };
        await transaction
          .updateTable("learning")
          .set({ notes: JSON.stringify({ signalCount, heldOutCount, fault }) })
          .where("model_id", "=", hold.modelId)
          .execute();
      }),
    ...cycleQueries(connection, outbox),
    ...turnQueries(database),
  };
}

async function put(transaction: Transaction<Schema>, learning: Learning): Promise<void> {
  const { modelId, order, keyId, keyOwner } = learning;
  if (!(await lockModel(transaction, modelId))) throw notFound("model", modelId);
  const last = await transaction
    .selectFrom("recorded_completions")
    .select(({ fn }) => fn.max("sequence").as("number"))
    .where("model_id", "=", modelId)
    .executeTakeFirst();
  const changed = {
    content: JSON.stringify({ order, keyId, keyOwner }),
    notes: JSON.stringify(noNotes),
    updated_at: learning.updatedAt.toISOString(),
  };
  await transaction
    .insertInto("learning")
    .values({
      model_id: modelId,
      ...changed,
      owner: null,
      read_to: last?.number ?? 0,
      created_at: learning.createdAt.toISOString(),
    })
    .onConflict((conflict) => conflict.column("model_id").doUpdateSet(changed))
    .execute();
}

/** Maximum number of models whose learning one server runs. */
const claimedMax = 1000;

async function claim(database: Kysely<Schema>, owner: string): Promise<readonly Learning[]> {
  await database
    .updateTable("learning")
    .set({ owner })
    .where((row) =>
      row.or([
        row("owner", "is", null),
        row("owner", "not in", row.selectFrom("servers").select("servers.id")),
      ]),
    )
    .where((row) =>
      row.exists(row.selectFrom("servers").select("servers.id").where("servers.id", "=", owner)),
    )
    .execute();
  const rows = await database
    .selectFrom("learning")
    .selectAll()
    .where("owner", "=", owner)
    .orderBy("created_at")
    .limit(claimedMax)
    .execute();
  return rows.map(learningOf);
}
