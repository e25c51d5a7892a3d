// Version 7 of the database: versions of models that somebody wants to keep.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion7({ queries }: Connection): Promise<void> {
  await sql`alter table model_versions add column is_pinned integer not null default 0`.execute(queries);
}
