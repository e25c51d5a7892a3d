// Stores recorded completions and their contents. If prompts of several completions of a model begin in the same way,
// stores this prefix once (`pieces.ts`). Does not decide which completions are recorded and for how long.
import { type Kysely, sql, type Transaction } from "kysely";
import { callIdOf } from "../../../base/domain/recordings/call-reference.ts";
import type { CompletionStore, StoredCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type { CompletionKey } from "../../../base/domain/recordings/completion-key.ts";
import type { RecordedCompletion } from "../../../base/domain/recordings/recorded-completion.ts";
import type { Connection } from "../dialect.ts";
import { insertRows } from "../insert-rows.ts";
import { anyOf, chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";
import { addModelBytes } from "../retention/model-bytes.ts";
import { nextSequences } from "../paging.ts";
import { completionPage } from "./completion-list.ts";
import { feedbackOn } from "./call-feedback.ts";
import { listedColumns, listedOf, ownBytesOf, partsOf, rowOf } from "./completion-rows.ts";
import {
  deletedColumns,
  type DeletedRow,
  deleteLocked,
  deleteSome,
  lockModels,
  rowsOfModel,
} from "./delete-completions.ts";
import { countCalls } from "../rollouts/rollout-calls.ts";
import { readChain, storeChains } from "./pieces.ts";
import { completionsWithWords } from "./completion-words.ts";
import { contentOf } from "./stored-content.ts";

/** Maximum number of rows in an SQL statement; each row has fourteen parameters. */
const rowsMax = 200;
const columns = [
  "sequence",
  "model_id",
  "entity",
  "project_id",
  "call_id",
  "step",
  "ended_at",
  "byte_count",
  "is_whole",
  "outline",
  "message_piece",
  "token_piece",
  "content",
  "rollout_id",
] as const satisfies readonly (keyof ReturnType<typeof rowOf>)[];

/**
 * Maximum number of attempts to insert completions. An attempt fails if another writer inserts the same keys between
 * this writer's lookup and its insert.
 */
const triesMax = 10;

/**
 * Error that rolls back the transaction if a completion with the same key exists. Because such duplicates are rare, the
 * store looks up existing completions only after an insert has failed.
 */
const keysTaken = new Error("There are completions of these keys.");

/** Creates the store of recorded completions on a migrated database. */
export function createCompletionStore(
  connection: Pick<Connection, "queries" | "form" | "searches">,
): CompletionStore {
  const { queries: database } = connection;
  return {
    add: async (completions) => {
      // If several of the given completions have the same key, stores only the last of them.
      const latest = [...new Map(completions.map((one) => [keyOf(one), one])).values()];
      for (let tryCount = 1; ; tryCount++) {
        try {
          return await database.transaction().execute(async (transaction) => {
            const earlier = tryCount === 1 ? [] : await allRows(transaction, latest);
            return addAll(transaction, latest, earlier);
          });
        } catch (error) {
          if (error !== keysTaken || tryCount === triesMax) throw error;
        }
      }
    },
    find: (key) => findCompletion(database, key),
    findOutlines: async (keys) =>
      keys.length === 0 ? [] : (await rowsOf(database, keys).select(listedColumns).execute()).map(listedOf),
    list: (filter, page) => completionPage(database, filter, page),
    findWords: (completions, words, turn) => completionsWithWords(connection, completions, words, turn),
    feedbackOn: (key, limit) => feedbackOn(database, key, limit),
    markUndelivered: async ({ projectId, requestId }) => {
      // The outline is a JSON object that is never empty, so a field can be inserted before the others.
      await database
        .updateTable("recorded_completions")
        .set({ outline: sql<string>`'{"isUndelivered":true,' || substr(outline, 2)` })
        .where("project_id", "=", projectId)
        .where("call_id", "=", callIdOf(requestId))
        .execute();
    },
    delete: async (key) => (await deleteSome(database, (transaction) => allRows(transaction, [key]))) > 0,
    deleteOfModel: async (modelId) => {
      while ((await deleteSome(database, (transaction) => rowsOfModel(transaction, modelId))) > 0);
    },
  };
}

function keyOf({ projectId, requestId }: CompletionKey): string {
  return `${projectId}/${callIdOf(requestId)}`;
}

/**
 * Stores completions in one transaction.
 *
 * @param earlier existing rows with the keys of these completions; the completions replace them
 * @throws keysTaken if the database has other rows with these keys
 */
async function addAll(
  transaction: Transaction<Schema>,
  completions: readonly RecordedCompletion[],
  earlier: readonly DeletedRow[],
): Promise<number> {
  const counts = new Map(earlier.map(({ model_id: modelId }) => [modelId, 0]));
  for (const { modelId } of completions) counts.set(modelId, (counts.get(modelId) ?? 0) + 1);
  const models = await lockModels(transaction, counts);
  await deleteLocked(
    transaction,
    earlier.filter((row) => models.has(row.model_id)),
  );
  const kept = completions.filter(({ modelId }) => models.has(modelId));
  const open = await countCalls(transaction, kept);
  const added = kept.map((one) => partsOf(open.has(one.rolloutId ?? "") ? one : { ...one, rolloutId: null }));
  for (const modelId of models) {
    const chains = added
      .filter(({ completion }) => completion.modelId === modelId)
      .flatMap((one) => one.chains);
    const shared = chains.length === 0 ? 0 : await storeChains(transaction, modelId, chains);
    const own = added.filter(({ completion }) => completion.modelId === modelId).map(ownBytesOf);
    const bytes = own.reduce((sum, each) => sum + each, shared);
    await addModelBytes(transaction, "completion_bytes", modelId, bytes);
  }
  if (added.length === 0) return 0;
  const last = await nextSequences(transaction, "completions", added.length);
  const rows = added.map((one, index) => rowOf(one, last - added.length + index + 1));
  const lengthOf = ({ outline, content }: (typeof rows)[number]): number =>
    outline.length + (content?.length ?? 0);
  let count = 0;
  for (const chunk of chunkRows(rows, { rowsMax, lengthOf })) {
    const values = chunk.map((row) => columns.map((column) => row[column]));
    count += await insertRows(transaction, "recorded_completions", columns, values);
  }
  if (count < added.length) throw keysTaken;
  return count;
}

async function findCompletion(
  database: Kysely<Schema>,
  key: CompletionKey,
): Promise<StoredCompletion | null> {
  const row = await rowsOf(database, [key]).selectAll().executeTakeFirst();
  if (row === undefined) return null;
  const listed = listedOf(row);
  if (row.content === null) return { ...listed, content: null };
  const [messagePieces, tokenPieces] = await Promise.all([
    readChain(database, row.model_id, row.message_piece),
    readChain(database, row.model_id, row.token_piece),
  ]);
  // A missing piece means that the completion was deleted, with its pieces, after its row was read.
  if (isBroken(row.message_piece, messagePieces) || isBroken(row.token_piece, tokenPieces)) return null;
  return { ...listed, content: contentOf({ messagePieces, tokenPieces, rest: row.content }) };
}

function isBroken(lastId: string | null, pieces: readonly string[]): boolean {
  return lastId !== null && pieces.length === 0;
}

/** Selects the rows with these keys. */
function rowsOf(database: Kysely<Schema>, keys: readonly CompletionKey[]) {
  const projectIds = new Set(keys.map(({ projectId }) => projectId));
  return database.selectFrom("recorded_completions").where((row) =>
    anyOf(
      [...projectIds].map((projectId) => {
        const callIds = keys
          .filter((key) => key.projectId === projectId)
          .map(({ requestId }) => callIdOf(requestId));
        return row("project_id", "=", projectId).and("call_id", "in", callIds);
      }),
    ),
  );
}

async function allRows(
  transaction: Transaction<Schema>,
  keys: readonly CompletionKey[],
): Promise<readonly DeletedRow[]> {
  const rows: DeletedRow[] = [];
  for (const chunk of chunkRows(keys, { rowsMax, lengthOf: () => 1 }))
    rows.push(...(await rowsOf(transaction, chunk).select(deletedColumns).execute()));
  return rows;
}
