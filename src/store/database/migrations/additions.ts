// Decides whether a migration step only adds to a database. If so, servers with older programs can continue to read and
// write the database.

const createTable = /^create table (\w+) \(.*\)( without rowid)?$/;
const createIndex = /^create (unique )?index \w+ on (\w+) /;
/**
 * Matches a statement that adds a column. In rows that an older server writes, the column is null or has its default.
 */
const addColumn =
  /^alter table \w+ add column \w+ \w+( not null default (-?\d+(\.\d+)?|'[^']*')| default (-?\d+(\.\d+)?|'[^']*'))?$/;
/**
 * Matches a foreign key. The foreign key must say what happens on deletion: an older server does not know the new
 * table, so it may delete a row to which a row of the new table refers.
 */
const reference = /\breferences \w+( \([^)]*\))?(?<onDelete> on delete (cascade|set null)\b)?/g;

/**
 * Returns the first statement of a step that does more than add a table, an index or an optional column; null if there
 * is none. Refuses a unique index on a table that the step does not itself add, because the index could refuse rows of
 * an older server.
 */
export function refusedAddition(statements: readonly string[]): string | null {
  const added = new Set<string>();
  for (const statement of statements) {
    const line = statement.trim().replaceAll(/\s+/g, " ").toLowerCase();
    const table = createTable.exec(line)?.[1];
    if (table !== undefined) added.add(table);
    const [isIndex, unique, indexed] = createIndex.exec(line) ?? [];
    const isAddition =
      table !== undefined ||
      addColumn.test(line) ||
      (isIndex !== undefined && (unique === undefined || added.has(indexed)));
    const references = [...line.matchAll(reference)];
    if (!isAddition || references.some(({ groups }) => groups?.["onDelete"] === undefined)) return statement;
  }
  return null;
}
