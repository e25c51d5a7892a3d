// Version 11 of the database: jobs that try another again, on what is stored with that one.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion11({ queries }: Connection): Promise<void> {
  await sql`alter table jobs add column retry_of text`.execute(queries);
}
