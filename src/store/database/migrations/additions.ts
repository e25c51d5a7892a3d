// Decides whether statements only add to a database, so that older servers continue to read and write it.

const createTable = /^create table (\w+) \(.*\)( without rowid)?$/;
const createIndex = /^create (unique )?index \w+ on (\w+) /;
/** Rows from an older server get null or the default. */
const addColumn =
  /^alter table \w+ add column \w+ \w+( not null default (-?\d+(\.\d+)?|'[^']*')| default (-?\d+(\.\d+)?|'[^']*'))?$/;
/** An older server may delete a row that a newer table refers to. */
const reference = /\breferences \w+( \([^)]*\))?(?<onDelete> on delete (cascade|set null)\b)?/g;

/**
 * Returns the first statement of a step that does more than add a table, an index or an optional column; null if there
 * is none. Unique indexes are allowed only on the step's own tables, since elsewhere they may refuse a row of an older
 * server.
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
