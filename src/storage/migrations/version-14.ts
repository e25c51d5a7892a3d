// Version 14 of the database: versions that were copied from another model's.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion14({ queries }: Connection): Promise<void> {
  await sql`alter table model_versions add column copied_kind text`.execute(queries);
}
