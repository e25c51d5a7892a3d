// Lists recorded completions, filtered with a covering index.
import type { Kysely } from "kysely";
import type { NumberedPage, NumberedPageRequest } from "../../../base/domain/page.ts";
import type { CompletionFilter, ListedCompletion } from "../../../base/domain/recordings/completion-store.ts";
import { callIdOf } from "../../../base/domain/recordings/call-reference.ts";
import type { Schema } from "../schema.ts";
import { hasFeedback } from "./call-feedback.ts";
import { listedColumns, listedOf } from "./completion-rows.ts";

/**
 * Maximum number of index rows that are scanned for one page, and the lower maximum if the feedback on each row must be
 * looked up.
 */
const scannedMax = 100_000;
const lookupsMax = 10_000;

/**
 * Reads a page of the completions that match the filter. If the scan reaches its limit first, the page is shorter, and
 * its cursor continues the scan.
 */
export async function completionPage(
  database: Kysely<Schema>,
  filter: CompletionFilter,
  { after, limit, order }: NumberedPageRequest,
): Promise<NumberedPage<ListedCompletion>> {
  const behind = order === "asc" ? ">" : "<";
  let rows = database.selectFrom("recorded_completions");
  if (filter.modelId !== null) rows = rows.where("model_id", "=", filter.modelId);
  if (after !== null) rows = rows.where("sequence", behind, after);
  const { rolloutId = null } = filter;
  if (rolloutId !== null) rows = rows.where("rollout_id", "=", rolloutId);
  if (filter.requestId !== null) rows = rows.where("call_id", "=", callIdOf(filter.requestId));
  const isFiltered = Object.entries(filter).some(
    ([name, value]) => name !== "modelId" && name !== "requestId" && name !== "rolloutId" && value !== null,
  );
  const end = isFiltered
    ? await rows
        .select("sequence")
        .orderBy("sequence", order)
        .offset((filter.feedback === null ? scannedMax : lookupsMax) - 1)
        .limit(1)
        .executeTakeFirst()
    : undefined;
  if (end !== undefined) rows = rows.where("sequence", order === "asc" ? "<=" : ">=", end.sequence);
  const { entity, projectId, step, endedFrom, endedBefore, feedback } = filter;
  if (entity !== null) rows = rows.where("entity", "=", entity);
  if (projectId !== null) rows = rows.where("project_id", "=", projectId);
  if (step !== null) rows = rows.where("step", "=", step);
  if (endedFrom !== null) rows = rows.where("ended_at", ">=", endedFrom.toISOString());
  if (endedBefore !== null) rows = rows.where("ended_at", "<", endedBefore.toISOString());
  if (feedback !== null) rows = rows.where((row) => hasFeedback(row, feedback));
  const found = await rows
    .select("sequence")
    .orderBy("sequence", order)
    .limit(limit + 1)
    .execute();
  const numbers = found.slice(0, limit).map(({ sequence }) => sequence);
  const items = await completionsAt(database, numbers, order);
  const hasMore = found.length > limit;
  if (!hasMore && end !== undefined) return { items, last: end.sequence, hasMore: true };
  return { items, last: numbers.at(-1) ?? 0, hasMore };
}

async function completionsAt(
  database: Kysely<Schema>,
  numbers: readonly number[],
  order: NumberedPageRequest["order"],
): Promise<readonly ListedCompletion[]> {
  if (numbers.length === 0) return [];
  const rows = await database
    .selectFrom("recorded_completions")
    .select(listedColumns)
    .where("sequence", "in", numbers)
    .orderBy("sequence", order)
    .execute();
  return rows.map(listedOf);
}
