// Stores the summaries of a model's trajectories, numbered in storage order. A covering index serves filtered lists.
// Summaries are counted when they are inserted, so that the length of a list is known without a scan.
import {
  type Expression,
  type Kysely,
  type RawBuilder,
  type Selectable,
  sql,
  type Transaction,
} from "kysely";
import { clamped } from "../../base/domain/summaries/outline-group.ts";
import type { NumberedPage, NumberedPageRequest } from "../../base/domain/page.ts";
import { notFound } from "../../base/domain/service-error.ts";
import type {
  ListedOutline,
  OutlineCount,
  OutlineFilter,
  OutlineSource,
  TrajectoryOutline,
} from "../../base/domain/summaries/trajectory-outline.ts";
import { chunkRows } from "./chunks.ts";
import type { Connection } from "./dialect.ts";
import type { Schema, TrajectoryOutlineTable } from "./schema.ts";
import type { SqlForm } from "./sql-form.ts";

/** Maximum number of rows in one SQL statement; each row has twelve parameters. */
const rowsMax = 300;

/**
 * Maximum number of summaries that are scanned for one page, only in the index. Scanning that many takes about 30 ms,
 * in which other reads wait.
 */
const scannedMax = 100_000;
/** The same limit for a filter with conditions on metrics, for which the scan reads and parses whole summaries. */
const parsedMax = 10_000;

/** Maximum number of kinds (combinations of source, split and version) that one response counts. */
const countsMax = 100;

/** Version number under which trajectories that belong to no version are counted. */
const noStep = -1;

export interface OutlinesToStore extends Pick<ListedOutline, "source" | "sourceId" | "split" | "step"> {
  readonly modelId: string;
  readonly recordedAt: Date;
  /** Summaries to store; the store iterates over them once. */
  readonly outlines: Iterable<TrajectoryOutline>;
}

/**
 * Stores summaries within the caller's transaction, and numbers them after the model's existing ones. Other writers for
 * the model wait until the transaction ends.
 *
 * @throws ServiceError `not_found` if there is no such model
 */
export async function storeOutlines(
  transaction: Transaction<Schema>,
  { modelId, source, sourceId, split, step, recordedAt, outlines }: OutlinesToStore,
): Promise<void> {
  const first = await lockCount(transaction, modelId);
  let [number, rewardSum] = [first, 0];
  const rows = function* () {
    for (const { part, groupIndex, index, reward, ...content } of outlines) {
      number += 1;
      rewardSum = clamped(rewardSum + reward);
      yield {
        model_id: modelId,
        sequence: number,
        source,
        source_id: sourceId,
        split,
        step,
        recorded_at: recordedAt.toISOString(),
        reward,
        part,
        group_index: groupIndex,
        item_index: index,
        content: JSON.stringify(content),
      };
    }
  };
  for (const chunk of chunkRows(rows(), { rowsMax, lengthOf: ({ content }) => content.length }))
    await transaction.insertInto("trajectory_outlines").values(chunk).execute();
  if (number === first) return;
  await transaction
    .updateTable("models")
    .set({ trajectory_count: number })
    .where("id", "=", modelId)
    .execute();
  await transaction
    .insertInto("trajectory_counts")
    .values({
      model_id: modelId,
      source,
      split,
      step: step ?? noStep,
      trajectory_count: number - first,
      reward_sum: rewardSum,
    })
    .onConflict((conflict) =>
      conflict.columns(["model_id", "source", "split", "step"]).doUpdateSet((row) => ({
        trajectory_count: row(
          "trajectory_counts.trajectory_count",
          "+",
          row.ref("excluded.trajectory_count"),
        ),
        reward_sum: clampedSum(row.ref("trajectory_counts.reward_sum"), "+", row.ref("excluded.reward_sum")),
      })),
    )
    .execute();
}

/** Half of the largest double. */
const halfMax = Number.MAX_VALUE / 2;

/**
 * Returns SQL for a sum or difference that is clamped to the largest double of its sign, because PostgreSQL throws on
 * overflow.
 */
export function clampedSum(
  one: Expression<number>,
  operator: "+" | "-",
  other: Expression<number> | number,
): RawBuilder<number> {
  const half = sql`(${one} / 2.0 ${sql.raw(operator)} cast(${other} as double precision) / 2.0)`;
  const [most, least] = [Number.MAX_VALUE, -Number.MAX_VALUE].map((value) => asDouble(value));
  return sql<number>`case when ${half} >= ${asDouble(halfMax)} then ${most}
    when ${half} <= ${asDouble(-halfMax)} then ${least} else 2.0 * ${half} end`;
}

function asDouble(value: number): RawBuilder<number> {
  return sql<number>`cast(${value} as double precision)`;
}

/** Returns a model's number of trajectories, and locks the model's row until the transaction ends. */
async function lockCount(transaction: Transaction<Schema>, modelId: string): Promise<number> {
  const model = await transaction
    .updateTable("models")
    .set((row) => ({ trajectory_count: row.ref("trajectory_count") }))
    .where("id", "=", modelId)
    .returning("trajectory_count")
    .executeTakeFirst();
  if (model === undefined) throw notFound("model", modelId);
  return model.trajectory_count;
}

/**
 * Reads a page of the summaries that match the filter. If the scan reaches its limit first, the page is shorter, and
 * its cursor continues the scan.
 */
export async function outlinePage(
  { queries: database, form }: Pick<Connection, "queries" | "form">,
  modelId: string,
  filter: OutlineFilter,
  { after, limit, order }: NumberedPageRequest,
): Promise<NumberedPage<ListedOutline>> {
  const isForward = order === "asc";
  const count = await countOf(database, modelId);
  // The numbers of summaries have no gaps, so each scan covers an interval of numbers.
  const behind = after ?? (isForward ? 0 : count + 1);
  const scanMax = filter.metrics.length === 0 ? scannedMax : parsedMax;
  const end = isForward ? Math.min(count, behind + scanMax) : Math.max(1, behind - scanMax);
  const [low, high] = isForward ? [behind + 1, end] : [end, Math.min(count, behind - 1)];
  const found = await filtered(database, modelId, filter, form)
    .select("sequence")
    .where("sequence", ">=", low)
    .where("sequence", "<=", high)
    .orderBy("sequence", order)
    .limit(limit + 1)
    .execute();
  const numbers = found.slice(0, limit).map(({ sequence }) => sequence);
  const items = await outlinesAt(database, modelId, numbers, order);
  if (found.length > limit) return { items, last: numbers[limit - 1], hasMore: true };
  const isAtEnd = isForward ? end >= count : end <= 1;
  return isAtEnd ? { items, last: numbers.at(-1) ?? 0, hasMore: false } : { items, last: end, hasMore: true };
}

async function countOf(database: Kysely<Schema>, modelId: string): Promise<number> {
  const model = await database
    .selectFrom("models")
    .select("trajectory_count")
    .where("id", "=", modelId)
    .executeTakeFirst();
  return model?.trajectory_count ?? 0;
}

/**
 * Selects the summaries that match the filter. Unless the filter has conditions on metrics, the query uses only columns
 * of the index `trajectory_outlines_in_order`.
 */
function filtered(database: Kysely<Schema>, modelId: string, filter: OutlineFilter, form: SqlForm) {
  const { source, split, step, rewardMin, rewardMax, metrics, recordedFrom, recordedBefore } = filter;
  let rows = database.selectFrom("trajectory_outlines").where("model_id", "=", modelId);
  if (source !== null) rows = rows.where("source", "=", source);
  if (split !== null) rows = rows.where("split", "=", split);
  if (step !== null) rows = rows.where("step", "=", step);
  if (rewardMin !== null) rows = rows.where("reward", ">=", rewardMin);
  if (rewardMax !== null) rows = rows.where("reward", "<=", rewardMax);
  if (recordedFrom !== null) rows = rows.where("recorded_at", ">=", recordedFrom.toISOString());
  if (recordedBefore !== null) rows = rows.where("recorded_at", "<", recordedBefore.toISOString());
  for (const { name, comparison, value } of metrics)
    rows = rows.where(metricNumber(form, name), comparison, value);
  return rows;
}

/**
 * Content of a summary, with other characters in place of NUL and of lone surrogates, whose escapes PostgreSQL cannot
 * read. The result is valid JSON also where the replaced text follows an escaped backslash.
 */
const readableContent = sql<string>`replace(replace(content, '\\u0000', '\\ufffd'), '\\ud', '\\uf')`;

/** Returns SQL for a metric as a number: 1 for true, 0 for false, null if the summary has no such metric. */
function metricNumber(form: SqlForm, name: string): RawBuilder<number> {
  const json = form.jsonAt(readableContent, ["metrics", name]);
  return sql<number>`case ${form.textOfJson(json)} when 'true' then 1 when 'false' then 0 else ${form.numberOfJson(json)} end`;
}

async function outlinesAt(
  database: Kysely<Schema>,
  modelId: string,
  numbers: readonly number[],
  order: NumberedPageRequest["order"],
): Promise<readonly ListedOutline[]> {
  if (numbers.length === 0) return [];
  const rows = await database
    .selectFrom("trajectory_outlines")
    .selectAll()
    .where("model_id", "=", modelId)
    .where("sequence", "in", numbers)
    .orderBy("sequence", order)
    .execute();
  return rows.map(outlineOf);
}

/** Finds the summary with this number; null if the model has no such summary. */
export async function findOutline(
  database: Kysely<Schema>,
  modelId: string,
  number: number,
): Promise<ListedOutline | null> {
  return (await outlinesAt(database, modelId, [number], "asc"))[0] ?? null;
}

/** Counts a model's summaries by kind, the most frequent kind first; at most a hundred kinds. */
export async function countOutlines(
  database: Kysely<Schema>,
  modelId: string,
  step: number | null,
): Promise<readonly OutlineCount[]> {
  const sum = sql<number>`sum(trajectory_count)`;
  // Divides each number by this power of two before adding it to a sum. The division does not round, and the sum of
  // 2^64 such quotients does not overflow, even if each number is the largest double.
  const parts = 2 ** 64;
  let rows = database.selectFrom("trajectory_counts").where("model_id", "=", modelId);
  if (step !== null) rows = rows.where("step", "=", step);
  const counts = await rows
    .select([
      "source",
      "split",
      sum.as("total"),
      sql<number>`sum(reward_sum / ${asDouble(parts)})`.as("reward"),
    ])
    .groupBy(["source", "split"])
    .orderBy(sum, "desc")
    .orderBy("source")
    .orderBy("split")
    .limit(countsMax)
    .execute();
  return counts.map(({ source, split, total, reward }) => ({
    source: sourceOf(source),
    split,
    count: total,
    meanReward: clamped((reward / total) * parts),
  }));
}

function outlineOf(row: Selectable<TrajectoryOutlineTable>): ListedOutline {
  // Safe cast: `storeOutlines` wrote this JSON.
  const content = JSON.parse(row.content) as Omit<
    TrajectoryOutline,
    "part" | "groupIndex" | "index" | "reward"
  >;
  return {
    ...content,
    number: row.sequence,
    source: sourceOf(row.source),
    sourceId: row.source_id,
    split: row.split,
    step: row.step,
    recordedAt: new Date(row.recorded_at),
    reward: row.reward,
    part: row.part,
    groupIndex: row.group_index,
    index: row.item_index,
  };
}

function sourceOf(source: string): OutlineSource {
  return source === "job" ? "job" : "log";
}
