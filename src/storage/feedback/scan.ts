// The records that a condition holds for, in the order in which they were stored: for whoever goes through all of them, or
// comes back for what is new. A page looks at so many records and no more, whether or not the condition holds for them.
import { sql } from "kysely";
import type {
  FeedbackScan,
  FeedbackScanPage,
  QueryTurn,
} from "../../domain/feedback-query/feedback-query.ts";
import { pageBytesMax } from "../../domain/page.ts";
import type { Connection } from "../dialect.ts";
import { searchTurn } from "./answer-query.ts";
import { conditionSql } from "./condition-sql.ts";
import { recordsAt } from "./records-at.ts";

/** Looked at for a page: some fifty milliseconds. */
const lookedAtMax = 20_000;

/** @throws ServiceError as `Searches.run` */
export async function scanPage(
  { queries, searches, form }: Connection,
  { projectId, condition, after, limit, bytesMax = pageBytesMax }: FeedbackScan,
  turn: QueryTurn,
): Promise<FeedbackScanPage> {
  const search = searchTurn(turn);
  const start = after ?? 0;
  const looked = sql<{ readonly end: number | null; readonly count: number }>`
    select max(sequence) as "end", count(*) as count from (
      select sequence from feedback where project_id = ${projectId} and sequence > ${start}
      order by sequence limit ${lookedAtMax}
    ) as looked`;
  const [{ end, count }] = await searches.run(looked.compile(queries), search);
  if (end === null) return { items: [], last: null, hasMore: false };
  const found = sql<{ readonly sequence: number }>`
    select feedback.sequence as sequence from feedback
    where feedback.project_id = ${projectId} and feedback.sequence > ${start} and feedback.sequence <= ${end}
      and ${conditionSql(condition, form)}
    order by feedback.sequence limit ${limit}`;
  const sequences = (await searches.run(found.compile(queries), search)).map(({ sequence }) => sequence);
  const { items, lastIndex } = await recordsAt(queries, projectId, sequences, bytesMax);
  // Behind a full page, or one that is cut at its bytes, there may be more of those that were looked at.
  const isCut = sequences.length === limit || lastIndex < sequences.length - 1;
  if (isCut && lastIndex >= 0) return { items, last: sequences[lastIndex], hasMore: true };
  return { items, last: end, hasMore: count === lookedAtMax };
}
