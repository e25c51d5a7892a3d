// Stores the usage of access keys, with one row for each day, key and model.
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import {
  parseUsageId,
  usageFields,
  type UsageRow,
  type UsageStore,
  dayOf,
  noUsage,
} from "../../../base/domain/keys/usage.ts";
import { columnsOf } from "../columns/resource-columns.ts";
import type { Schema, UsageTable } from "../schema.ts";
import { unknownCursor } from "../paging.ts";
import { type JobCounts, trainedTokens } from "../../../base/domain/job.ts";

/** Maximum number of rows in one SQL statement. */
const rowsMax = 300;

const counts = columnsOf(usageFields);

export function createUsageStore(database: Kysely<Schema>): UsageStore {
  return {
    add: (rows) => database.transaction().execute((transaction) => addUsage(transaction, rows)),
    list: async ({ entity, keyId, model, from, to }, page) => {
      let rows = database.selectFrom("key_usage").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      if (keyId !== null) rows = rows.where("key_id", "=", keyId);
      if (model !== null) rows = rows.where("model", "=", model);
      if (from !== null) rows = rows.where("day", ">=", from);
      if (to !== null) rows = rows.where("day", "<=", to);
      if (page.after !== null) {
        const last = parseUsageId(page.after);
        if (last === null) throw unknownCursor(page.after);
        const compare = sql.raw(page.order === "asc" ? ">" : "<");
        rows = rows.where(
          sql<boolean>`(day, key_id, model) ${compare} (${last.day}, ${last.keyId}, ${last.model})`,
        );
      }
      const found = await rows
        .orderBy("day", page.order)
        .orderBy("key_id", page.order)
        .orderBy("model", page.order)
        .limit(page.limit + 1)
        .execute();
      return { rows: found.slice(0, page.limit).map(usageOf), hasMore: found.length > page.limit };
    },
  };
}

/** Adds usage, within the caller's transaction. Writes the rows in a fixed order, to avoid deadlocks. */
async function addUsage(transaction: Transaction<Schema>, rows: readonly UsageRow[]): Promise<void> {
  const sorted = rows.toSorted((one, other) => compare(orderOf(one), orderOf(other)));
  for (let start = 0; start < sorted.length; start += rowsMax) {
    await transaction
      .insertInto("key_usage")
      .values(sorted.slice(start, start + rowsMax).map(rowOf))
      .onConflict((conflict) =>
        conflict
          .columns(["day", "key_id", "model"])
          .doUpdateSet((row) =>
            Object.fromEntries(
              counts.names.map((name) => [name, row(`key_usage.${name}`, "+", row.ref(`excluded.${name}`))]),
            ),
          ),
      )
      .execute();
  }
}

function orderOf({ day, keyId, model }: UsageRow): string {
  return `${day}\n${keyId}\n${model}`;
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other);
}

function rowOf({ day, keyId, entity, model, ...used }: UsageRow): UsageTable {
  return { day, key_id: keyId, entity, model, ...counts.write(used) };
}

function usageOf({ day, key_id: keyId, entity, model, ...columns }: Selectable<UsageTable>): UsageRow {
  return { day, keyId, entity, model, ...counts.read(columns) };
}

/**
 * Adds the training usage of a succeeded job to its key, within the transaction that ends the job.
 *
 * @param at time at which the job ended
 */
export async function addTrainingUsage(
  transaction: Transaction<Schema>,
  jobId: string,
  { counts, at }: { readonly counts: JobCounts; readonly at: Date },
): Promise<void> {
  const trainingTokens = trainedTokens(counts);
  if (trainingTokens === 0) return;
  const job = await transaction
    .selectFrom("jobs")
    .innerJoin("models", "models.id", "jobs.model_id")
    .select(["jobs.key_id", "models.entity", "models.project", "models.name"])
    .where("jobs.id", "=", jobId)
    .executeTakeFirstOrThrow();
  const { key_id: keyId, entity, project, name } = job;
  const by = { day: dayOf(at), keyId: keyId ?? "", entity, model: `${entity}/${project}/${name}` };
  await addUsage(transaction, [{ ...noUsage, ...by, trainingTokens }]);
}
