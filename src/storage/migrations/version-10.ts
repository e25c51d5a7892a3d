// Version 10 of the database: whether an attempt at a job kept further steps.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion10({ queries }: Connection): Promise<void> {
  await sql`alter table jobs add column has_advanced integer not null default 0`.execute(queries);
}
