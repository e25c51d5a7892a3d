// Deletes recorded completions, a few per transaction, together with the shared pieces that no other completion uses.
import { type Kysely, sql, type Transaction } from "kysely";
import { chunkRows } from "../chunks.ts";
import type { RecordedCompletionTable, Schema } from "../schema.ts";
import { addModelBytes } from "../retention/model-bytes.ts";
import { releaseChains } from "./pieces.ts";

/** Maximum number of completions that one transaction deletes, which takes about ten milliseconds. */
const deletedMax = 200;

/** Maximum number of rows in one SQL statement. */
const rowsMax = 500;

export const deletedColumns = ["model_id", "sequence", "message_piece", "token_piece"] as const;

export type DeletedRow = Pick<RecordedCompletionTable, (typeof deletedColumns)[number]>;

type Transacting = Transaction<Schema>;

/** Deletes the given rows that still exist, and returns their number. */
export function deleteSome(
  database: Kysely<Schema>,
  choose: (transaction: Transacting) => Promise<readonly DeletedRow[]>,
): Promise<number> {
  return database.transaction().execute(async (transaction) => {
    const rows = await choose(transaction);
    if (rows.length === 0) return 0;
    await lockModels(transaction, new Map(rows.map(({ model_id: modelId }) => [modelId, 0])));
    return deleteLocked(transaction, rows);
  });
}

/** Selects the oldest rows of a model, as many as one transaction deletes. */
export function rowsOfModel(transaction: Transacting, modelId: string): Promise<readonly DeletedRow[]> {
  return transaction
    .selectFrom("recorded_completions")
    .select(deletedColumns)
    .where("model_id", "=", modelId)
    .orderBy("sequence")
    .limit(deletedMax)
    .execute();
}

/**
 * Changes each model's count of completions by the amount, and locks the models' rows until the transaction ends.
 *
 * @returns the ids of the models that exist
 */
export async function lockModels(
  transaction: Transacting,
  counts: ReadonlyMap<string, number>,
): Promise<ReadonlySet<string>> {
  const locked = new Set<string>();
  // Locks the models in a fixed order, to avoid deadlocks.
  for (const modelId of [...counts.keys()].sort()) {
    const { rows } = await sql`
      update models set completion_count = completion_count + ${counts.get(modelId) ?? 0}
      where id = ${modelId} returning id`.execute(transaction);
    if (rows.length > 0) locked.add(modelId);
  }
  return locked;
}

/** Deletes rows like {@link deleteSome}. The caller must have locked the rows of their models. */
export async function deleteLocked(transaction: Transacting, rows: readonly DeletedRow[]): Promise<number> {
  let count = 0;
  for (const modelId of new Set(rows.map(({ model_id: id }) => id))) {
    const numbers = rows.filter(({ model_id: id }) => id === modelId).map(({ sequence }) => sequence);
    const gone: (DeletedRow & { readonly byte_count: number })[] = [];
    for (const chunk of chunkRows(numbers, { rowsMax, lengthOf: () => 1 })) {
      const deleted = transaction
        .deleteFrom("recorded_completions")
        .where("model_id", "=", modelId)
        .where("sequence", "in", chunk)
        .returning([...deletedColumns, "byte_count"]);
      gone.push(...(await deleted.execute()));
    }
    const lastPieces = gone.flatMap((row) => [row.message_piece, row.token_piece]);
    const released = await releaseChains(
      transaction,
      modelId,
      lastPieces.filter((id) => id !== null),
    );
    const ownBytes = gone.reduce((sum, { byte_count: bytes }) => sum + bytes, 0);
    await lockModels(transaction, new Map([[modelId, -gone.length]]));
    await addModelBytes(transaction, "completion_bytes", modelId, -ownBytes - released);
    count += gone.length;
  }
  return count;
}
