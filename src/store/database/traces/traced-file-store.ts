// Stores metadata of the files of traces. The bytes of the files are artifacts.
import type { Kysely, Selectable } from "kysely";
import { ServiceError } from "../../../base/domain/service-error.ts";
import {
  noRoomMessage,
  type TracedFile,
  type TracedFileStore,
} from "../../../base/domain/traces/traced-file.ts";
import type { Schema } from "../schema.ts";
import { nextSequence } from "../paging.ts";
import type { TracedFileTable } from "./trace-tables.ts";

/** Creates the store of traced files on a migrated database. */
export function createTracedFileStore(database: Kysely<Schema>): TracedFileStore {
  return {
    create: (file, entityBytesMax) =>
      database.transaction().execute(async (transaction) => {
        // This statement comes first, because it is a lock: concurrent uploads wait here, so that together they cannot
        // exceed the entity's quota.
        await nextSequence(transaction, "traced files");
        const known = await findFile(transaction, file.projectId, file.digest);
        if (known !== null) return known;
        const { bytes } = await transaction
          .selectFrom("traced_files")
          .select(({ fn }) => fn.sum<number | null>("byte_count").as("bytes"))
          .where("entity", "=", file.entity)
          .executeTakeFirstOrThrow();
        const usedBytes = bytes ?? 0;
        if (usedBytes + file.byteCount > entityBytesMax) {
          const message = noRoomMessage(file.byteCount, usedBytes, entityBytesMax);
          throw new ServiceError({ code: "too_large", message });
        }
        await transaction
          .insertInto("traced_files")
          .values({
            project_id: file.projectId,
            digest: file.digest,
            file_id: file.fileId,
            entity: file.entity,
            byte_count: file.byteCount,
            created_at: file.createdAt.toISOString(),
          })
          .execute();
        return file;
      }),
    find: (projectId, digest) => findFile(database, projectId, digest),
    isKnown: async (fileId) => {
      const row = await database
        .selectFrom("traced_files")
        .select("file_id")
        .where("file_id", "=", fileId)
        .executeTakeFirst();
      return row !== undefined;
    },
  };
}

async function findFile(
  database: Kysely<Schema>,
  projectId: string,
  digest: string,
): Promise<TracedFile | null> {
  const row = await database
    .selectFrom("traced_files")
    .selectAll()
    .where("project_id", "=", projectId)
    .where("digest", "=", digest)
    .executeTakeFirst();
  return row === undefined ? null : fileOf(row);
}

function fileOf(row: Selectable<TracedFileTable>): TracedFile {
  return {
    projectId: row.project_id,
    digest: row.digest,
    fileId: row.file_id,
    entity: row.entity,
    byteCount: row.byte_count,
    createdAt: new Date(row.created_at),
  };
}
