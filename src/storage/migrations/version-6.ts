// Version 6 of the database: what kind of training a job is.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion6({ queries }: Connection): Promise<void> {
  await sql`alter table jobs add column kind text not null default 'rl'`.execute(queries);
}
