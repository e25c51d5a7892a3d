// Version 13 of the database: the rank and the scale that a model asks for its adapters.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion13({ queries }: Connection): Promise<void> {
  await sql`alter table models add column adapter_rank integer`.execute(queries);
  await sql`alter table models add column adapter_alpha real`.execute(queries);
}
