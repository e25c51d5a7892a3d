// What keys have used, a row for each day, key and model.
import { type Kysely, type Selectable, sql, type Transaction } from "kysely";
import { parseUsageId, type UsageRow, type UsageStore } from "../../../base/domain/keys/usage.ts";
import type { Schema, UsageTable } from "../schema.ts";
import { unknownCursor } from "../paging.ts";

/** Of one statement. */
const rowsMax = 300;

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

/** Adds inside the caller's transaction; the rows in one order, so that no two wait for each other. */
export async function addUsage(transaction: Transaction<Schema>, rows: readonly UsageRow[]): Promise<void> {
  const sorted = rows.toSorted((one, other) => compare(orderOf(one), orderOf(other)));
  for (let start = 0; start < sorted.length; start += rowsMax) {
    await transaction
      .insertInto("key_usage")
      .values(sorted.slice(start, start + rowsMax).map(rowOf))
      .onConflict((conflict) =>
        conflict.columns(["day", "key_id", "model"]).doUpdateSet((row) => ({
          requests: row("key_usage.requests", "+", row.ref("excluded.requests")),
          prompt_tokens: row("key_usage.prompt_tokens", "+", row.ref("excluded.prompt_tokens")),
          cached_tokens: row("key_usage.cached_tokens", "+", row.ref("excluded.cached_tokens")),
          completion_tokens: row("key_usage.completion_tokens", "+", row.ref("excluded.completion_tokens")),
          training_tokens: row("key_usage.training_tokens", "+", row.ref("excluded.training_tokens")),
        })),
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

function rowOf(row: UsageRow): UsageTable {
  return {
    day: row.day,
    key_id: row.keyId,
    entity: row.entity,
    model: row.model,
    requests: row.requests,
    prompt_tokens: row.promptTokens,
    cached_tokens: row.cachedTokens,
    completion_tokens: row.completionTokens,
    training_tokens: row.trainingTokens,
  };
}

function usageOf(row: Selectable<UsageTable>): UsageRow {
  return {
    day: row.day,
    keyId: row.key_id,
    entity: row.entity,
    model: row.model,
    requests: row.requests,
    promptTokens: row.prompt_tokens,
    cachedTokens: row.cached_tokens,
    completionTokens: row.completion_tokens,
    trainingTokens: row.training_tokens,
  };
}
