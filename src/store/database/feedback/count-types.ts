// Counts the records that match a condition, by feedback type. The database does the counting.
import { sql } from "kysely";
import type {
  QueryTurn,
  TypeCounts,
  TypeQuestion,
} from "../../../base/domain/feedback-query/feedback-query.ts";
import { searchTurn } from "./answer-query.ts";
import { numericFacts, type SearchTools, sourceOf } from "./search-sources.ts";

interface CountRow {
  readonly feedback_type: string;
  readonly count: number;
  readonly total: number;
}

/**
 * Counts the matching records by feedback type.
 *
 * @throws ServiceError with the codes of `Searches.run`
 */
export async function countTypes(
  tools: SearchTools,
  question: TypeQuestion,
  turn: QueryTurn,
): Promise<TypeCounts> {
  const { connection } = tools;
  const search = searchTurn(turn);
  const { from, where } = sourceOf(connection, question, await numericFacts(tools, question, search));
  const counted = sql<CountRow>`
    select feedback.feedback_type as feedback_type, count(*) as count,
      cast(sum(count(*)) over () as bigint) as total
    from ${from} where ${where}
    group by feedback.feedback_type order by count(*) desc, feedback.feedback_type limit ${question.typesMax}`;
  const rows = await connection.searches.run(counted.compile(connection.queries), search);
  return {
    totalCount: rows[0]?.total ?? 0,
    types: rows.map(({ feedback_type: feedbackType, count }) => ({ feedbackType, count })),
  };
}
