// Version 4 of the database: the figures that a model's version came with, apart from what logs lay over them.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion4({ queries }: Connection): Promise<void> {
  // Versions from before keep none apart: a log replaced what it named of them.
  await sql`alter table model_versions add column own_metrics text not null default '{}'`.execute(queries);
}
