// Stores prompt prefixes once, as chains of pieces; a piece's id is a hash of its content and of all pieces before it.
// Each piece has a count of its uses: the pieces that follow it directly, plus the completions whose chain ends with
// it. A piece without uses is deleted; callers lock the model's row, so that only one transaction at a time changes
// counts.
import { createHash } from "node:crypto";
import { type Kysely, sql, type Transaction } from "kysely";
import { insertRows } from "../insert-rows.ts";
import { sizeOf } from "../paging.ts";
import { chunkRows } from "../chunks.ts";
import type { Schema } from "../schema.ts";

export interface Piece {
  readonly id: string;
  /** Id of the previous piece in the chain; null for the first piece. */
  readonly parentId: string | null;
  readonly content: string;
}

/** Maximum number of rows in an SQL statement; each row has five parameters. */
const rowsMax = 500;

const pieceColumns = ["model_id", "id", "parent_id", "use_count", "content"] as const;

/**
 * Length of a piece's id in base64url characters. So many characters have 132 bits, which makes collisions negligible.
 */
const idLength = 22;

/** Returns the pieces of a chain, in order. Chains of different kinds share no pieces. */
export function chainOf(kind: "messages" | "tokens", contents: readonly string[]): readonly Piece[] {
  let parentId: string | null = null;
  return contents.map((content) => {
    const hash = createHash("sha256")
      .update(`${parentId ?? kind}\n`)
      .update(content);
    const piece = { id: hash.digest("base64url").slice(0, idLength), parentId, content };
    parentId = piece.id;
    return piece;
  });
}

/**
 * Stores those pieces of the chains that are not stored yet, and adds one use to the last piece of each chain.
 *
 * @returns number of bytes added
 */
export async function storeChains(
  transaction: Transaction<Schema>,
  modelId: string,
  chains: readonly (readonly Piece[])[],
): Promise<number> {
  const pieces = new Map(chains.flat().map((piece) => [piece.id, piece]));
  const stored = await storedAmong(transaction, modelId, [...pieces.keys()]);
  const added = [...pieces.values()].filter(({ id }) => !stored.has(id));
  const uses = countsOf([
    ...chains.flatMap((chain) => chain.at(-1)?.id ?? []),
    ...added.flatMap(({ parentId }) => parentId ?? []),
  ]);
  for (const chunk of chunkRows(added, { rowsMax, lengthOf: ({ content }) => content.length })) {
    const rows = chunk.map(({ id, parentId, content }) => [
      modelId,
      id,
      parentId,
      uses.get(id) ?? 0,
      content,
    ]);
    await insertRows(transaction, "completion_pieces", pieceColumns, rows);
  }
  await countUses(transaction, modelId, new Map([...uses].filter(([id]) => stored.has(id))), 1);
  return added.reduce((bytes, { content }) => bytes + Buffer.byteLength(content), 0);
}

/**
 * Removes one use from each of the given pieces. Deletes a piece that then has no uses, which in turn removes one use
 * from the piece before it.
 *
 * @returns number of bytes deleted
 */
export async function releaseChains(
  transaction: Transaction<Schema>,
  modelId: string,
  lastIds: readonly string[],
): Promise<number> {
  let bytes = 0;
  for (let released = lastIds; released.length > 0;) {
    const uses = countsOf(released);
    await countUses(transaction, modelId, uses, -1);
    const parents: string[] = [];
    for (const ids of chunkRows(uses.keys(), { rowsMax, lengthOf: () => 1 })) {
      const gone = await transaction
        .deleteFrom("completion_pieces")
        .where("model_id", "=", modelId)
        .where("id", "in", ids)
        .where("use_count", "<=", 0)
        .returning(["parent_id", sizeOf(["content"]).as("bytes")])
        .execute();
      parents.push(...gone.flatMap(({ parent_id: parentId }) => parentId ?? []));
      bytes += gone.reduce((sum, piece) => sum + piece.bytes, 0);
    }
    released = parents;
  }
  return bytes;
}

/** Reads the chain that ends with the given piece. Returns the contents of the chain's pieces, in order. */
export async function readChain(
  database: Kysely<Schema>,
  modelId: string,
  lastId: string | null,
): Promise<readonly string[]> {
  if (lastId === null) return [];
  const { rows } = await sql<{ readonly content: string }>`
    with recursive chain (id, parent_id, content, place) as (
      select id, parent_id, content, 0 from completion_pieces where model_id = ${modelId} and id = ${lastId}
      union all
      select piece.id, piece.parent_id, piece.content, chain.place + 1 from completion_pieces as piece
        join chain on piece.model_id = ${modelId} and piece.id = chain.parent_id
    )
    select content from chain order by place desc
  `.execute(database);
  return rows.map(({ content }) => content);
}

async function storedAmong(
  transaction: Transaction<Schema>,
  modelId: string,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const stored = new Set<string>();
  for (const chunk of chunkRows(ids, { rowsMax, lengthOf: () => 1 })) {
    const rows = await transaction
      .selectFrom("completion_pieces")
      .select("id")
      .where("model_id", "=", modelId)
      .where("id", "in", chunk)
      .execute();
    for (const { id } of rows) stored.add(id);
  }
  return stored;
}

/** Changes the use counts of existing pieces, with one SQL statement for each different amount. */
async function countUses(
  transaction: Transaction<Schema>,
  modelId: string,
  uses: ReadonlyMap<string, number>,
  sign: 1 | -1,
): Promise<void> {
  for (const count of new Set(uses.values())) {
    const ids = [...uses].filter(([, own]) => own === count).map(([id]) => id);
    for (const chunk of chunkRows(ids, { rowsMax, lengthOf: () => 1 })) {
      await transaction
        .updateTable("completion_pieces")
        .set((row) => ({ use_count: row("use_count", "+", sign * count) }))
        .where("model_id", "=", modelId)
        .where("id", "in", chunk)
        .execute();
    }
  }
}

function countsOf(ids: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  return counts;
}
