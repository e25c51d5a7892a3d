// Stores rollouts: creates them under the limit of their entity, lists them and ends them. The calls of rollouts are
// recorded completions (`completions/`), and count towards their rollout while it is open (`rollout-calls.ts`).
import type { Kysely } from "kysely";
import type { Rollout, RolloutFilter, RolloutStore } from "../../../base/domain/rollouts/rollout.ts";
import { notFound, quoted, ServiceError } from "../../../base/domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { nextSequence, readPage } from "../paging.ts";
import type { Schema } from "../schema.ts";
import { isFree, isUnneeded, jobOf } from "./rollout-jobs.ts";
import { countGroups, rolloutGroups } from "./rollout-groups.ts";
import { rolloutOf, rowOf } from "./rollout-rows.ts";

export function createRolloutStore({ queries: database, isMissingParent }: Connection): RolloutStore {
  const findBy = async (column: "id" | "secret_hash", value: string, now: Date): Promise<Rollout | null> => {
    const row = await database
      .selectFrom("rollouts")
      .selectAll()
      .select(jobOf)
      .where(column, "=", value)
      .executeTakeFirst();
    return row === undefined ? null : rolloutOf(row, row.live_job_id, now);
  };
  return {
    create: (rollout, { openMax }) =>
      database
        .transaction()
        .execute(async (transaction) => {
          // Locks the list before counting, so that concurrent requests cannot exceed the limit together.
          const sequence = await nextSequence(transaction, "rollouts");
          const { count } = await transaction
            .selectFrom("rollouts")
            .select(({ fn }) => fn.countAll<number>().as("count"))
            .where("entity", "=", rollout.entity)
            .where("state", "=", "open")
            .where("expires_at", ">", rollout.createdAt.toISOString())
            .executeTakeFirstOrThrow();
          if (count >= openMax) throw tooManyOpen(rollout.entity, count);
          await transaction.insertInto("rollouts").values(rowOf(rollout, sequence)).execute();
        })
        .catch((error: unknown) => {
          throw isMissingParent(error) ? notFound("model", rollout.modelId) : error;
        }),
    find: (id, now) => findBy("id", id, now),
    findByHash: (secretHash, now) => findBy("secret_hash", secretHash, now),
    list: (filter, page, now) => {
      const rows = matching(database, filter, now).selectAll().select(jobOf);
      const orderValueOf = async (id: string) =>
        (await rows.where("rollouts.id", "=", id).executeTakeFirst())?.sequence;
      return readPage(
        {
          rows,
          orderColumn: "sequence",
          contentColumns: ["content", "outcome"],
          orderValueOf,
          itemOf: (row) => rolloutOf(row, row.live_job_id, now),
        },
        page,
      );
    },
    end: async (id, { at, outcome }) => {
      const ended = await database
        .updateTable("rollouts")
        .set({
          state: outcome === null ? "cancelled" : "finished",
          ended_at: at.toISOString(),
          outcome: outcome === null ? null : JSON.stringify(outcome),
        })
        .where("id", "=", id)
        .where("state", "=", "open")
        .where(isFree)
        .executeTakeFirst();
      return ended.numUpdatedRows > 0n;
    },
    deleteEnded: async (before, limit) => {
      const time = before.toISOString();
      const ended = database
        .selectFrom("rollouts")
        .select("id")
        .where((row) =>
          row.or([
            row("ended_at", "<", time),
            row.and([row("state", "=", "open"), row("expires_at", "<", time)]),
          ]),
        )
        .where(isUnneeded)
        .orderBy("sequence")
        .limit(limit);
      const deleted = await database.deleteFrom("rollouts").where("id", "in", ended).executeTakeFirst();
      return Number(deleted.numDeletedRows);
    },
    groups: (choice, limits, now) => rolloutGroups(database, choice, limits, now),
    countGroups: (choice, now) => countGroups(database, choice, now),
  };
}

function matching(
  database: Kysely<Schema>,
  { modelId, state, group, split, step }: RolloutFilter,
  now: Date,
) {
  let rows = database.selectFrom("rollouts").where("model_id", "=", modelId);
  const time = now.toISOString();
  if (state === "expired")
    rows = rows.where((row) =>
      row.or([
        row("state", "=", "expired"),
        row.and([row("state", "=", "open"), row("expires_at", "<=", time)]),
      ]),
    );
  else if (state !== null) rows = rows.where("state", "=", state);
  if (state === "open") rows = rows.where("expires_at", ">", time);
  if (group !== null) rows = rows.where("group_key", "=", `group:${group}`);
  if (split !== null) rows = rows.where("split", "=", split);
  if (step !== null) rows = rows.where("step", "=", step);
  return rows;
}

function tooManyOpen(entity: string, count: number): ServiceError {
  const message = `The entity ${quoted(entity)} has ${count} open rollouts, the most that it may have. Finish or cancel some, or wait until some expire.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 10 });
}
