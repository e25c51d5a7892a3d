// Stores the answered turns of recorded chats. With them, a later chat that continues one of these turns is recognized.
import type { Kysely } from "kysely";
import type { LearningStore } from "../../../base/domain/learning/learning-store.ts";
import { callIdOf, percentDecoded } from "../../../base/domain/recordings/call-reference.ts";
import type { Schema } from "../schema.ts";
import { lockHeld } from "./learning-lock.ts";

type TurnQueries = Pick<LearningStore, "turnCursor" | "findTurns" | "addTurns">;

export function turnQueries(database: Kysely<Schema>): TurnQueries {
  return {
    turnCursor: async ({ modelId, owner }) => {
      const row = await database
        .selectFrom("learning")
        .select("read_to")
        .where("model_id", "=", modelId)
        .where("owner", "=", owner)
        .executeTakeFirst();
      return row?.read_to ?? null;
    },
    findTurns: async (modelId, hashes) => {
      // Returns early, because an empty list is invalid SQL.
      if (hashes.length === 0) return [];
      const rows = await database
        .selectFrom("learning_turns")
        .select(["hash", "call_id"])
        .where("model_id", "=", modelId)
        .where("hash", "in", hashes)
        .execute();
      return rows.map(({ hash, call_id: callId }) => ({ hash, requestId: percentDecoded(callId) ?? callId }));
    },
    addTurns: (hold, cursor, turns, { countMax }) =>
      database.transaction().execute(async (transaction) => {
        if (!(await lockHeld(transaction, hold))) return;
        const { modelId } = hold;
        await transaction
          .updateTable("learning")
          .set({ read_to: cursor })
          .where("model_id", "=", modelId)
          .execute();
        for (const { hash, requestId } of turns)
          await transaction
            .insertInto("learning_turns")
            .values({ model_id: modelId, hash, call_id: callIdOf(requestId), number: cursor })
            .onConflict((conflict) =>
              conflict
                .columns(["model_id", "hash"])
                .doUpdateSet({ call_id: callIdOf(requestId), number: cursor }),
            )
            .execute();
        const oldest = await transaction
          .selectFrom("learning_turns")
          .select("number")
          .where("model_id", "=", modelId)
          .orderBy("number", "desc")
          .offset(countMax)
          .limit(1)
          .executeTakeFirst();
        if (oldest === undefined) return;
        await transaction
          .deleteFrom("learning_turns")
          .where("model_id", "=", modelId)
          .where("number", "<=", oldest.number)
          .execute();
      }),
  };
}
