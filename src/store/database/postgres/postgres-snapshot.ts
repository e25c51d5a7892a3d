// Reads a consistent snapshot of a PostgreSQL database with cursors, in a "repeatable read" transaction on a separate
// connection. While the snapshot is open, vacuum cannot remove rows that are deleted in the meantime.
import type pg from "pg";
import type { Cell, TableColumns, TableSnapshot } from "../../../base/domain/backup/tables.ts";
import { charactersOf } from "../dump/page-of-rows.ts";
import { serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/**
 * Numbers of rows to fetch at a time. The first fetch is small, because the size of the rows is unknown; later fetches
 * grow up to `rowsMax`.
 */
const [rowsAtFirst, rowsMax] = [8, 256];
/** Target size of a page in characters. If a page exceeds it, the next fetch requests fewer rows. */
const charactersMax = 1 << 20;

/**
 * Opens a consistent snapshot of the database.
 *
 * @throws ServiceError `unavailable` if the database cannot be reached
 */
export async function openPostgresSnapshot(pool: PostgresPool): Promise<TableSnapshot> {
  const client = await pool.take(pool.deadlineMs());
  const ask = async (text: string): Promise<pg.QueryArrayResult<Cell[]>> => {
    try {
      return await client.query<Cell[]>({ text, rowMode: "array" });
    } catch (error) {
      throw serviceErrorOf(error);
    }
  };
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    // Closes the connection instead of returning it to the pool: the connection may be lost already, and the session's
    // settings must not apply to other users of the pool.
    client.release(true);
  };
  try {
    // Disables the time limits, because the reader may wait for a slow disk between pages.
    for (const setting of ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"])
      await ask(`set ${setting} = 0`);
    await ask("begin isolation level repeatable read read only");
    // The snapshot shows the database as of this first query.
    await ask("select version from database_version");
  } catch (error) {
    await close();
    throw error;
  }
  return {
    rows: (of) => rowsOf(ask, of),
    // Reports no faults: the database itself enforces references, and refuses to read pages with wrong checksums.
    faults: async () => [],
    close,
  };
}

type Ask = (text: string) => Promise<pg.QueryArrayResult<Cell[]>>;

async function* rowsOf(
  ask: Ask,
  { table, columns }: TableColumns,
): AsyncGenerator<readonly (readonly Cell[])[], void> {
  const names = columns.map((column) => `"${column}"`).join(", ");
  await ask(`declare copied no scroll cursor for select ${names} from "${table}"`);
  try {
    for (let count = rowsAtFirst; ;) {
      const { rows } = await ask(`fetch ${count} from copied`);
      if (rows.length > 0) yield rows;
      if (rows.length < count) return;
      const characters = rows.reduce((sum, row) => sum + charactersOf(row), 0);
      count = Math.max(
        1,
        Math.min(rowsMax, Math.floor((count * charactersMax) / (characters + 1)), 2 * count),
      );
    }
  } finally {
    // Ignores an error, because the cursor is closed anyway if the connection is lost.
    await ask("close copied").catch(() => undefined);
  }
}
