// Version 5 of the database: when it was a model's turn to train, so that models and entities take turns.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion5({ queries }: Connection): Promise<void> {
  await sql`alter table models add column last_turn integer not null default 0`.execute(queries);
}
