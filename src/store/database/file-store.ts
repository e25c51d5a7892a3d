// Stores metadata of uploaded files. The bytes of the files are artifacts.
import type { Kysely, Selectable, Transaction } from "kysely";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  entityFullMessage,
  type FileStore,
  type UploadedFile,
} from "../../base/domain/uploads/uploaded-file.ts";
import { readPage, nextSequence } from "./paging.ts";
import type { FileTable, Schema } from "./schema.ts";

/** Creates the file store on a migrated database. */
export function createFileStore(database: Kysely<Schema>): FileStore {
  const rowOf = (id: string) => database.selectFrom("files").selectAll().where("id", "=", id);
  return {
    create: (file, entityBytesMax) =>
      database.transaction().execute(async (transaction) => {
        // Also serves as a lock: concurrent uploads wait here, so that two of them cannot both use the last free space.
        const sequence = await nextSequence(transaction, "files");
        await requireFileSpace(transaction, file, entityBytesMax, file.createdAt);
        await insertFile(transaction, file, sequence);
      }),
    find: async (id) => {
      const row = await rowOf(id).executeTakeFirst();
      return row === undefined ? null : fileOf(row);
    },
    list: ({ entity, purpose, unusedSince, expiresBefore }, page) => {
      let rows = database.selectFrom("files").selectAll();
      if (entity !== null) rows = rows.where("entity", "=", entity);
      const places = rows;
      if (purpose !== null) rows = rows.where("purpose", "=", purpose);
      if (unusedSince !== null) rows = rows.where("used_at", "<", unusedSince.toISOString());
      if (expiresBefore !== null) rows = rows.where("expires_at", "<", expiresBefore.toISOString());
      return readPage(
        {
          rows,
          orderColumn: "sequence",
          contentColumns: ["name"],
          orderValueOf: async (id) =>
            (await places.clearSelect().select("sequence").where("id", "=", id).executeTakeFirst())?.sequence,
          itemOf: fileOf,
        },
        page,
      );
    },
    delete: async (id) => {
      const result = await database.deleteFrom("files").where("id", "=", id).executeTakeFirst();
      return result.numDeletedRows > 0n;
    },
    use: async (id, at) => {
      await database.updateTable("files").set({ used_at: at.toISOString() }).where("id", "=", id).execute();
    },
  };
}

/**
 * Refuses a file for which its entity has no space left. The parts of the entity's pending uploads count, too.
 *
 * @throws ServiceError `too_large`
 */
export async function requireFileSpace(
  transaction: Transaction<Schema>,
  { entity, byteCount }: Pick<UploadedFile, "entity" | "byteCount">,
  entityBytesMax: number,
  at: Date,
): Promise<void> {
  const { files, parts } = await transaction
    .selectNoFrom((rows) => [
      rows
        .selectFrom("files")
        .select(({ fn }) => fn.sum<number | null>("byte_count").as("bytes"))
        .where("entity", "=", entity)
        .as("files"),
      rows
        .selectFrom("uploads")
        .select(({ fn }) => fn.sum<number | null>("part_bytes").as("bytes"))
        .where("entity", "=", entity)
        .where("state", "=", "pending")
        .where("expires_at", ">", at.toISOString())
        .as("parts"),
    ])
    .executeTakeFirstOrThrow();
  const usedBytes = (files ?? 0) + (parts ?? 0);
  if (usedBytes + byteCount <= entityBytesMax) return;
  const message = entityFullMessage(usedBytes, byteCount, entityBytesMax);
  throw new ServiceError({ code: "too_large", message });
}

export async function insertFile(
  transaction: Transaction<Schema>,
  file: UploadedFile,
  sequence: number,
): Promise<void> {
  await transaction
    .insertInto("files")
    .values({
      id: file.id,
      sequence,
      entity: file.entity,
      name: JSON.stringify(file.name),
      purpose: file.purpose,
      byte_count: file.byteCount,
      created_at: file.createdAt.toISOString(),
      used_at: file.usedAt.toISOString(),
      expires_at: file.expiresAt?.toISOString() ?? null,
    })
    .execute();
}

function fileOf(row: Selectable<FileTable>): UploadedFile {
  return {
    id: row.id,
    entity: row.entity,
    // The column contains JSON, because a file name may contain any character.
    name: String(JSON.parse(row.name)),
    purpose: row.purpose,
    byteCount: row.byte_count,
    createdAt: new Date(row.created_at),
    usedAt: new Date(row.used_at),
    expiresAt: row.expires_at === null ? null : new Date(row.expires_at),
  };
}
