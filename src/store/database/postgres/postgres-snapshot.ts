// A consistent snapshot of a PostgreSQL database: a "repeatable read" transaction on a separate connection, read
// through cursors. While it is open, vacuum keeps rows deleted since.
import type pg from "pg";
import type { Cell, TableColumns, TableSnapshot } from "../../../base/domain/backup/tables.ts";
import { charactersOf } from "../dump/page-of-rows.ts";
import { serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Rows fetched at a time: few at first, until their size is known. */
const [rowsAtFirst, rowsMax] = [8, 256];
/** Target size of a page; if one exceeds it, the next has fewer rows. */
const charactersMax = 1 << 20;

/** @throws ServiceError `unavailable` if the database cannot be reached */
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
    // The connection may be lost already, and its settings must not reach other users.
    client.release(true);
  };
  try {
    // The reader may wait for a slow disk between pages.
    for (const setting of ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"])
      await ask(`set ${setting} = 0`);
    await ask("begin isolation level repeatable read read only");
    // The first query fixes the snapshot.
    await ask("select version from database_version");
  } catch (error) {
    await close();
    throw error;
  }
  return {
    rows: (of) => rowsOf(ask, of),
    // The database enforces references, and refuses to read pages with wrong checksums.
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
    // Losing the connection also loses the cursor.
    await ask("close copied").catch(() => undefined);
  }
}
