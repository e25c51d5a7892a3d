// Version 3 of the database: how a job's attempts were lost, what it waits for, and warnings.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion3({ queries }: Connection): Promise<void> {
  for (const column of [
    sql`lost_count integer not null default 0`,
    sql`restart_count integer not null default 0`,
    sql`waits_since text not null default '1970-01-01T00:00:00.000Z'`,
    sql`waiting_for text`,
    sql`warnings text not null default '[]'`,
  ]) {
    await sql`alter table jobs add column ${column}`.execute(queries);
  }
}
