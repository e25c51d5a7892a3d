// The database's versions, in order. A migration that has been released is never changed: a new one is added.
import { sql } from "kysely";
import { ServiceError } from "../../domain/service-error.ts";
import type { Connection } from "../dialect.ts";
import { createVersion1 } from "./version-1.ts";
import { addVersion2 } from "./version-2.ts";
import { addVersion3 } from "./version-3.ts";
import { addVersion4 } from "./version-4.ts";
import { addVersion5 } from "./version-5.ts";
import { addVersion6 } from "./version-6.ts";
import { addVersion7 } from "./version-7.ts";
import { addVersion8 } from "./version-8.ts";
import { addVersion9 } from "./version-9.ts";
import { addVersion10 } from "./version-10.ts";
import { addVersion11 } from "./version-11.ts";
import { addVersion12 } from "./version-12.ts";
import { addVersion13 } from "./version-13.ts";
import { addVersion14 } from "./version-14.ts";
import { addVersion15 } from "./version-15.ts";

/** Number n of the list takes a database from version n to n + 1. */
const migrations: readonly ((connection: Connection) => Promise<void>)[] = [
  createVersion1,
  addVersion2,
  addVersion3,
  addVersion4,
  addVersion5,
  addVersion6,
  addVersion7,
  addVersion8,
  addVersion9,
  addVersion10,
  addVersion11,
  addVersion12,
  addVersion13,
  addVersion14,
  addVersion15,
];

export const newestDatabaseVersion = migrations.length;

/**
 * Brings the database to a version, the newest unless given, in one transaction.
 *
 * @returns the version it had before
 * @throws ServiceError `unsupported` when the database was written by a newer program
 */
export async function migrate(
  { dialect, queries }: Connection,
  target: number = newestDatabaseVersion,
): Promise<number> {
  await queries.schema
    .createTable("database_version")
    .ifNotExists()
    .addColumn("version", "integer", (column) => column.notNull())
    .execute();
  return await queries.transaction().execute(async (transaction) => {
    const { rows } = await sql<{ version: number }>`select version from database_version`.execute(
      transaction,
    );
    const version = rows.length === 0 ? 0 : rows[0].version;
    if (version > newestDatabaseVersion) {
      throw new ServiceError({
        code: "unsupported",
        message:
          `The database has version ${version}, but this program knows only up to ${newestDatabaseVersion}. ` +
          "It was written by a newer program: upgrade this one, or use another data folder.",
      });
    }
    for (const migration of migrations.slice(version, target)) {
      await migration({ dialect, queries: transaction });
    }
    if (rows.length === 0) await sql`insert into database_version (version) values (0)`.execute(transaction);
    await sql`update database_version set version = ${Math.max(version, target)}`.execute(transaction);
    return version;
  });
}
