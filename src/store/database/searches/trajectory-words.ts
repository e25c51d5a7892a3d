// Finds trajectories by words. The database scans the stored groups, because an index of all words would take as much
// space as the messages, and slow every write. Callers pass few trajectories at a time.
import { type Expression, expressionBuilder, sql, type SqlBool } from "kysely";
import type { QueryTurn } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { ListedOutline } from "../../../base/domain/summaries/trajectory-outline.ts";
import { patternOf } from "../../../base/domain/text/searched-words.ts";
import { anyOf } from "../chunks.ts";
import type { Connection } from "../dialect.ts";
import { searchTurn } from "../feedback/answer-query.ts";
import { groupOwners } from "../groups.ts";
import type { Schema } from "../schema.ts";

const tables = { log: "trajectory_groups", job: "job_groups" } as const;

type Located = Pick<ListedOutline, "number" | "source" | "sourceId" | "part">;

/** Returns the numbers of those trajectories whose groups contain all the words in their stored JSON. */
export async function trajectoriesWithWords(
  connection: Pick<Connection, "queries" | "form" | "searches">,
  outlines: readonly Located[],
  words: readonly string[],
  turn: QueryTurn,
): Promise<ReadonlySet<number>> {
  const numbers = new Set<number>();
  for (const source of ["log", "job"] as const) {
    const located = outlines.filter((outline) => outline.source === source);
    if (located.length === 0) continue;
    const groups = await groupsWithWords(connection, located, words, turn);
    for (const outline of located) if (groups.has(placeOf(outline))) numbers.add(outline.number);
  }
  return numbers;
}

/** Returns the places of the groups that contain the words, among the groups of outlines of one source. */
async function groupsWithWords(
  { queries, form, searches }: Pick<Connection, "queries" | "form" | "searches">,
  outlines: readonly Located[],
  words: readonly string[],
  turn: QueryTurn,
): Promise<ReadonlySet<string>> {
  const table = tables[outlines[0].source];
  const parts = new Map<string, Set<number>>();
  for (const { sourceId, part } of outlines)
    parts.set(sourceId, (parts.get(sourceId) ?? new Set()).add(part));
  const owner = sql<string>`${sql.ref(groupOwners[table].column)}`;
  const owned = [...parts].map(
    ([id, own]): Expression<SqlBool> =>
      sql<SqlBool>`(${owner} = ${id} and group_index in (${sql.join([...own])}))`,
  );
  const content = sql<string>`content`;
  const contains = expressionBuilder<Schema>().and(words.map((word) => form.like(content, patternOf(word))));
  // Only the first part of a group is scanned, so a group that has several parts is always found.
  const query = sql<{ readonly owner: string; readonly part: number }>`
    select ${owner} as owner, group_index as part from ${sql.table(table)}
    where ${anyOf(owned)} and (${contains} or content like ${"%\\"} escape '|')`;
  const found = await searches.run(query.compile(queries), searchTurn(turn));
  return new Set(found.map(({ owner: sourceId, part }) => placeOf({ sourceId, part })));
}

function placeOf({ sourceId, part }: Pick<Located, "sourceId" | "part">): string {
  return `${sourceId}.${part}`;
}
