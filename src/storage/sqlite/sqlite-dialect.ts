// SQLite as the stores' database.
import {
  type ColumnDefinitionBuilder,
  type CreateTableBuilder,
  Kysely,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from "kysely";
import type { Connection, DatabaseDialect } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { SqliteDriver } from "./sqlite-driver.ts";

const sqlite: DatabaseDialect = {
  positionColumn: <TableName extends string, Columns extends string>(
    table: CreateTableBuilder<TableName, Columns>,
  ) =>
    table.addColumn("position", "integer", (column: ColumnDefinitionBuilder) =>
      column.primaryKey().autoIncrement(),
    ),
  isMissingParent: (error) =>
    error instanceof Error && "code" in error && error.code === "SQLITE_CONSTRAINT_FOREIGNKEY",
};

/**
 * A SQLite file for the stores. It is opened by the first query, which throws where that cannot be done.
 *
 * @param file a path, or ":memory:"
 */
export function openSqlite(file: string): Connection {
  const queries = new Kysely<Schema>({
    dialect: {
      createAdapter: () => new SqliteAdapter(),
      createDriver: () => new SqliteDriver(file),
      createIntrospector: (database) => new SqliteIntrospector(database),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
  return { dialect: sqlite, queries };
}
