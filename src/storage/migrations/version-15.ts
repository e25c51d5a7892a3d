// Version 15 of the database: which projections the adapters of a model are on.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion15({ queries }: Connection): Promise<void> {
  await sql`alter table models add column adapter_targets text`.execute(queries);
}
