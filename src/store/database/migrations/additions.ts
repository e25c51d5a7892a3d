// Which statements only add to a database, so that servers of before read and write it as they did.

const createTable = /^create table (\w+) \(.*\)( without rowid)?$/;
const createIndex = /^create (unique )?index \w+ on (\w+) /;
/** Null, or a default, is what a row has that an older server writes. */
const addColumn =
  /^alter table \w+ add column \w+ \w+( not null default (-?\d+(\.\d+)?|'[^']*')| default (-?\d+(\.\d+)?|'[^']*'))?$/;
/** An older server deletes what a row of a newer table may refer to. */
const reference = /\breferences \w+( \([^)]*\))?(?<onDelete> on delete (cascade|set null)\b)?/g;

/**
 * The first statement of a step that does more than add a table, an index, or a column that rows may be without; null where
 * there is none. What is unique may be so in the step's own tables alone: elsewhere it may refuse a row of an older server.
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
