// Decides whether a migration step only adds to a database. If so, servers with older programs can continue to read
// and write the database.

const createTable = /^create table (\w+) \(.*\)( without rowid)?$/;
const createIndex = /^create (unique )?index \w+ on (\w+) /;
/** Statement that adds a column. In rows from an older server, the column is null or has its default. */
const addColumn =
  /^alter table \w+ add column \w+ \w+( not null default (-?\d+(\.\d+)?|'[^']*')| default (-?\d+(\.\d+)?|'[^']*'))?$/;
/**
 * A reference must name its action on deletion. An older server does not know the new table, and may delete a row to
 * which it refers.
 */
const reference = /\breferences \w+( \([^)]*\))?(?<onDelete> on delete (cascade|set null)\b)?/g;

/**
 * Returns the first statement of a step that does more than add a table, an index or an optional column; null if there
 * is none. A unique index is allowed only on a table that the same step adds, because on another table it could refuse
 * rows of an older server.
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
