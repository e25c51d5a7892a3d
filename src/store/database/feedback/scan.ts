// Reads matching records in the order of storage or of changes, for clients that read all records or poll for new ones.
// For each page, a limited number of records is scanned, so a page may contain few records or none.
import { type RawBuilder, sql, type SqlBool } from "kysely";
import type {
  FeedbackScan,
  FeedbackScanPage,
  QueryTurn,
} from "../../../base/domain/feedback-query/feedback-query.ts";
import { sampleBound, sampleCycle, sampleFactor } from "../../../base/domain/feedback-query/sample.ts";
import { pageBytesMax } from "../../../base/domain/page.ts";
import type { Connection } from "../dialect.ts";
import { searchTurn } from "./answer-query.ts";
import { conditionSql } from "./condition-sql.ts";
import { recordsAt } from "./records-at.ts";

/** Maximum number of records that are scanned for one page. Scanning that many takes about 50 milliseconds. */
const scannedMax = 20_000;

/**
 * Reads one page of a scan.
 *
 * @throws ServiceError with the codes of `Searches.run`
 */
export async function scanPage(
  { queries, searches, form }: Connection,
  { projectId, condition, order = "stored", share = 1, after, limit, bytesMax = pageBytesMax }: FeedbackScan,
  turn: QueryTurn,
): Promise<FeedbackScanPage> {
  const search = searchTurn(turn);
  const start = after ?? 0;
  // Each source of records has an index in the order of the scan, so the database merges the sources while it reads.
  const placed = (holds: (place: RawBuilder<number>) => RawBuilder<SqlBool>): RawBuilder<unknown> =>
    sql.join(
      placesOf[order].map(
        ({ place, where }) => sql`
          select ${place} as place, feedback.sequence as sequence from feedback
          where feedback.project_id = ${projectId} and ${where} and ${place} > ${start} and ${holds(place)}`,
      ),
      sql` union all `,
    );
  const looked = sql<{ readonly end: number | null; readonly count: number }>`
    select max(place) as "end", count(*) as count from (
      ${placed(() => sql<SqlBool>`true`)} order by place limit ${scannedMax}
    ) as looked`;
  const [{ end, count }] = await searches.run(looked.compile(queries), search);
  if (end === null) return { items: [], last: null, hasMore: false };
  const found = sql<{ readonly place: number; readonly sequence: number }>`
    ${placed((place) => sql<SqlBool>`${place} <= ${end}${sampleSql(share)} and ${conditionSql(condition, form)}`)}
    order by place limit ${limit}`;
  const places = await searches.run(found.compile(queries), search);
  const sequences = places.map(({ sequence }) => sequence);
  const { items, lastIndex } = await recordsAt(queries, projectId, sequences, bytesMax);
  // If the page is full or has reached its byte limit, some of the scanned records may match without being on the page.
  const isCut = sequences.length === limit || lastIndex < sequences.length - 1;
  if (isCut && lastIndex >= 0) return { items, last: places[lastIndex].place, hasMore: true };
  return { items, last: end, hasMore: count === scannedMax };
}

/**
 * Returns SQL for `isSampled`. This condition comes before the other conditions, because it needs only a record's
 * sequence number.
 */
function sampleSql(share: number): RawBuilder<unknown> {
  if (share >= 1) return sql``;
  const place = sql`(feedback.sequence % ${sampleCycle} * ${sampleFactor} % ${sampleCycle})`;
  return sql` and ${place} < ${sampleBound(share)}`;
}

/**
 * Sources of records for each order of a scan. No record belongs to two sources, so each record has exactly one
 * position.
 */
const placesOf: Readonly<
  Record<
    NonNullable<FeedbackScan["order"]>,
    readonly { readonly place: RawBuilder<number>; readonly where: RawBuilder<SqlBool> }[]
  >
> = {
  stored: [{ place: sql`feedback.sequence`, where: sql`true` }],
  changed: [
    { place: sql`feedback.sequence`, where: sql`feedback.replaced_sequence is null` },
    { place: sql`feedback.replaced_sequence`, where: sql`feedback.replaced_sequence is not null` },
  ],
};
