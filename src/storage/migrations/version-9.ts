// Version 9 of the database: uploaded files.
import { sql } from "kysely";
import type { Connection } from "../dialect.ts";

export async function addVersion9({ queries }: Connection): Promise<void> {
  await sql`
    create table files (
      id text not null primary key,
      sequence integer not null unique,
      entity text not null,
      name text not null,
      purpose text not null,
      byte_count bigint not null,
      created_at text not null,
      used_at text not null
    )`.execute(queries);
  await sql`create index files_of_entity on files (entity, sequence)`.execute(queries);
}
