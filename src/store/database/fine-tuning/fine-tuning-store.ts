// Stores fine-tuning jobs in the form of OpenAI's API. Their training jobs are in the job store.
import { sql, type Kysely } from "kysely";
import type { FineTuningStore } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import { nextSequence, readPage } from "../paging.ts";
import type { Schema } from "../schema.ts";
import { claimJobs } from "./claim-jobs.ts";
import { jobOf, metadataLine, rowOf } from "./fine-tuning-rows.ts";

const finalStates: readonly string[] = ["succeeded", "failed", "cancelled"];

export function createFineTuningStore(database: Kysely<Schema>): FineTuningStore {
  const find: FineTuningStore["find"] = async (id) => {
    const row = await database
      .selectFrom("fine_tuning_jobs")
      .selectAll()
      .where("id", "=", id)
      .executeTakeFirst();
    return row === undefined ? null : jobOf(row);
  };
  return {
    create: (job) =>
      database.transaction().execute(async (transaction) => {
        const sequence = await nextSequence(transaction, "fine-tuning jobs");
        await transaction
          .insertInto("fine_tuning_jobs")
          .values({ ...rowOf(job), sequence })
          .execute();
      }),
    find,
    list: ({ reach, metadata }, page) => {
      let rows = database.selectFrom("fine_tuning_jobs").selectAll();
      if (reach !== null) rows = rows.where("entity", "=", reach.entity);
      if (reach !== null && reach.project !== null) rows = rows.where("project", "=", reach.project);
      const places = rows;
      if (metadata === null) rows = rows.where("metadata", "is", null);
      for (const [key, value] of Object.entries(metadata ?? {})) {
        // Unlike `like`, `replace` distinguishes upper and lower case in both kinds of databases.
        const without = sql<string>`replace(metadata, ${metadataLine(key, value)}, '')`;
        rows = rows.where(without, "<>", (job) => job.ref("metadata"));
      }
      return readPage(
        {
          rows,
          orderColumn: "sequence",
          contentColumns: ["content", "metadata", "progress"],
          orderValueOf: async (id) =>
            (await places.clearSelect().select("sequence").where("id", "=", id).executeTakeFirst())?.sequence,
          itemOf: jobOf,
        },
        page,
      );
    },
    changeState: async (id, { from, to, at, errorMessage = null, owner }) => {
      const isFinal = finalStates.includes(to);
      let update = database
        .updateTable("fine_tuning_jobs")
        .set({
          state: to,
          error_message: errorMessage,
          ended_at: isFinal ? at.toISOString() : null,
          // Only a job in the state `running` belongs to a server.
          ...(to === "running" ? {} : { owner: null }),
        })
        .where("id", "=", id)
        .where("state", "in", from);
      if (owner !== undefined) update = update.where("owner", "=", owner);
      const { numUpdatedRows } = await update.executeTakeFirst();
      return numUpdatedRows === 0n ? null : await find(id);
    },
    claim: (owner, countMax) => claimJobs(database, owner, countMax),
    advance: async (id, owner, { trainingJobId, progress }) => {
      const { numUpdatedRows } = await database
        .updateTable("fine_tuning_jobs")
        .set({ training_job_id: trainingJobId, progress: JSON.stringify(progress) })
        .where("id", "=", id)
        .where("owner", "=", owner)
        .where("state", "=", "running")
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },
  };
}
