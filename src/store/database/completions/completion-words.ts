// Finds recorded completions by words, in their own content and in the pieces that they share with others (`pieces.ts`).
// The database scans these texts, so callers pass few completions at a time.
import { sql } from "kysely";
import type { QueryTurn } from "../../../base/domain/feedback-query/feedback-query.ts";
import type { ListedCompletion } from "../../../base/domain/recordings/completion-store.ts";
import { patternOf } from "../../../base/domain/text/searched-words.ts";
import type { Connection } from "../dialect.ts";
import { searchTurn } from "../feedback/answer-query.ts";

/** Returns the numbers of those completions whose stored JSON contains all the words. */
export async function completionsWithWords(
  { queries, form, searches }: Pick<Connection, "queries" | "form" | "searches">,
  completions: readonly Pick<ListedCompletion, "number">[],
  words: readonly string[],
  turn: QueryTurn,
): Promise<ReadonlySet<number>> {
  if (completions.length === 0) return new Set();
  const numbers = sql.join(completions.map(({ number }) => number));
  const contains = words.map((word) => {
    const pattern = patternOf(word);
    return sql`(${form.like(sql<string>`own.content`, pattern)} or exists (
      select 1 from chain join completion_pieces as piece on piece.model_id = chain.model_id and piece.id = chain.id
      where chain.model_id = own.model_id and chain.last = own.message_piece
        and ${form.like(sql<string>`piece.content`, pattern)}))`;
  });
  // Each row of `chain` is a piece of the chain that ends with the piece `last`.
  const query = sql<{ readonly sequence: number }>`
    with recursive chain (model_id, last, id) as (
      select distinct model_id, message_piece, message_piece from recorded_completions
        where sequence in (${numbers}) and message_piece is not null
      union all
      select chain.model_id, chain.last, piece.parent_id from chain
        join completion_pieces as piece on piece.model_id = chain.model_id and piece.id = chain.id
        where piece.parent_id is not null
    )
    select sequence from recorded_completions as own
    where sequence in (${numbers}) and ${sql.join(contains, sql` and `)}`;
  const found = await searches.run(query.compile(queries), searchTurn(turn));
  return new Set(found.map(({ sequence }) => sequence));
}
