// Version 8 of the database: jobs that repeat another, to compare with what it made.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion8({ queries }: Connection): Promise<void> {
  await sql`alter table jobs add column replay_of text`.execute(queries);
  await sql`alter table jobs add column comparison text`.execute(queries);
}
