// A PostgreSQL database as it is at one moment: a transaction of the kind "repeatable read", on a connection of its own, whose
// rows come by cursors. Vacuum keeps what was deleted since for as long as it is open.
import type pg from "pg";
import type { Cell, TableColumns, TableSnapshot } from "../../../base/domain/backup/tables.ts";
import { charactersOf } from "../dump/page-of-rows.ts";
import { serviceErrorOf } from "./postgres-errors.ts";
import type { PostgresPool } from "./postgres-pool.ts";

/** Rows that are asked for at once: few until it is known how long they are. */
const [rowsAtFirst, rowsMax] = [8, 256];
/** Of a page; the next one has fewer rows where one has more. */
const charactersMax = 1 << 20;

/** @throws ServiceError `unavailable` where the database cannot be reached */
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
    // It may be lost already, and has settings that nobody else is to have.
    client.release(true);
  };
  try {
    // Between pages whoever reads may wait for a slow disk.
    for (const setting of ["statement_timeout", "idle_in_transaction_session_timeout", "lock_timeout"])
      await ask(`set ${setting} = 0`);
    await ask("begin isolation level repeatable read read only");
    // The moment is that of the first query.
    await ask("select version from database_version");
  } catch (error) {
    await close();
    throw error;
  }
  return {
    rows: (of) => rowsOf(ask, of),
    // References are kept by the database, and pages with wrong checksums refuse to be read.
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
    // Where the connection is lost, so is the cursor.
    await ask("close copied").catch(() => undefined);
  }
}
