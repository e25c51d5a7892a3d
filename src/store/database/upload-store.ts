// Stores metadata of uploads that arrive in parts. An upload that is completed becomes a row of the table of files.
import type { Kysely, Selectable, Transaction } from "kysely";
import { ServiceError } from "../../base/domain/service-error.ts";
import {
  notPendingError,
  type Upload,
  type UploadPart,
  type UploadState,
  type UploadStore,
} from "../../base/domain/uploads/upload.ts";
import { insertFile, requireFileSpace } from "./file-store.ts";
import { nextSequence } from "./paging.ts";
import type { Schema, UploadTable } from "./schema.ts";

/** Creates the upload store on a migrated database. */
export function createUploadStore(database: Kysely<Schema>): UploadStore {
  const find: UploadStore["find"] = async (id) => {
    const row = await database.selectFrom("uploads").selectAll().where("id", "=", id).executeTakeFirst();
    return row === undefined ? null : uploadOf(row);
  };
  const end = async (
    among: Kysely<Schema>,
    id: string,
    to: Exclude<UploadState, "pending">,
    at: Date,
  ): Promise<void> => {
    const { numUpdatedRows } = await among
      .updateTable("uploads")
      .set({ state: to })
      .where("id", "=", id)
      .where("state", "=", "pending")
      .where("expires_at", ">", at.toISOString())
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw notPendingError(await find(id));
  };
  return {
    create: (upload, pendingMax) =>
      database.transaction().execute(async (transaction) => {
        await nextSequence(transaction, "files");
        const { count } = await transaction
          .selectFrom("uploads")
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .where("entity", "=", upload.entity)
          .where("state", "=", "pending")
          .where("expires_at", ">", upload.createdAt.toISOString())
          .executeTakeFirstOrThrow();
        if (count >= pendingMax) throw manyUploads(pendingMax);
        await transaction.insertInto("uploads").values(rowOf(upload)).execute();
      }),
    find,
    addPart: (id, part, { countMax, bytesMax, entityBytesMax }) =>
      database.transaction().execute(async (transaction) => {
        await nextSequence(transaction, "files");
        const upload = await pendingUpload(transaction, id, part.createdAt);
        const parts = [...upload.parts, part];
        const byteCount = parts.reduce((sum, one) => sum + one.byteCount, 0);
        if (parts.length > countMax || byteCount > bytesMax) throw manyParts(countMax, bytesMax);
        await requireFileSpace(
          transaction,
          { ...upload, byteCount: part.byteCount },
          entityBytesMax,
          part.createdAt,
        );
        await transaction
          .updateTable("uploads")
          .set({ parts: JSON.stringify(parts), part_bytes: byteCount })
          .where("id", "=", id)
          .execute();
      }),
    complete: (id, file, entityBytesMax) =>
      database.transaction().execute(async (transaction) => {
        const sequence = await nextSequence(transaction, "files");
        await end(transaction, id, "completed", file.createdAt);
        await requireFileSpace(transaction, file, entityBytesMax, file.createdAt);
        await insertFile(transaction, file, sequence);
      }),
    cancel: (id, at) => end(database, id, "cancelled", at),
    deleteExpired: async (before) => {
      await database.deleteFrom("uploads").where("expires_at", "<", before.toISOString()).execute();
    },
  };
}

async function pendingUpload(transaction: Transaction<Schema>, id: string, at: Date): Promise<Upload> {
  const row = await transaction.selectFrom("uploads").selectAll().where("id", "=", id).executeTakeFirst();
  const upload = row === undefined ? null : uploadOf(row);
  if (upload === null || upload.state !== "pending" || upload.expiresAt <= at) throw notPendingError(upload);
  return upload;
}

function rowOf(upload: Upload): Selectable<UploadTable> {
  return {
    id: upload.id,
    entity: upload.entity,
    name: JSON.stringify(upload.name),
    purpose: upload.purpose,
    byte_count: upload.byteCount,
    state: upload.state,
    parts: JSON.stringify(upload.parts),
    part_bytes: 0,
    created_at: upload.createdAt.toISOString(),
    expires_at: upload.expiresAt.toISOString(),
  };
}

function uploadOf(row: Selectable<UploadTable>): Upload {
  // Safe casts: `rowOf` and `addPart` wrote these values.
  const parts = JSON.parse(row.parts) as readonly (Omit<UploadPart, "createdAt"> & { createdAt: string })[];
  return {
    id: row.id,
    entity: row.entity,
    name: String(JSON.parse(row.name)),
    purpose: row.purpose,
    byteCount: row.byte_count,
    state: row.state as UploadState,
    parts: parts.map((part) => ({ ...part, createdAt: new Date(part.createdAt) })),
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
  };
}

function manyUploads(pendingMax: number): ServiceError {
  const message = `This entity has ${pendingMax} pending uploads, the most that it may have. Complete or cancel one of them, or wait until they expire.`;
  return new ServiceError({ code: "overloaded", message });
}

function manyParts(countMax: number, bytesMax: number): ServiceError {
  const message = `The parts of an upload may be at most ${countMax}, and have at most ${bytesMax} bytes together. Split the file, and upload several files.`;
  return new ServiceError({ code: "too_large", message });
}
