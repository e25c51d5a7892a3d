// The events of a job: written once each, read in pages.
import type { Kysely, Transaction } from "kysely";
import type { JobEvent, JobEventType } from "../domain/job.ts";
import type { Page, PageRequest } from "../domain/page.ts";
import type { JsonObject } from "../domain/trajectory.ts";
import { pageOf, pageWindow } from "./paging.ts";
import type { Schema } from "./schema.ts";

/** The sequence of the one terminal event: beyond any gradient step, and unique like every other. */
export const terminalSequence = 2 ** 31 - 1;

/** Appends an event inside the caller's transaction; nothing happens when the job has one of this sequence. */
export async function appendJobEvent(
  transaction: Transaction<Schema>,
  jobId: string,
  sequence: number,
  event: Omit<JobEvent, "id">,
): Promise<void> {
  await transaction
    .insertInto("job_events")
    .values({ job_id: jobId, sequence, type: event.type, data: JSON.stringify(event.data) })
    .onConflict((conflict) => conflict.columns(["job_id", "sequence"]).doNothing())
    .execute();
}

/** A page of a job's events. @throws ServiceError `invalid` when `after` is not an event of the job */
export async function listJobEvents(
  database: Kysely<Schema>,
  jobId: string,
  page: PageRequest,
): Promise<Page<JobEvent>> {
  const window = await pageWindow(page, async (id) => {
    // Only texts that a position prints as are ids: "01" and "1e0" are not.
    if (!/^[1-9][0-9]{0,14}$/.test(id)) return undefined;
    const row = await database
      .selectFrom("job_events")
      .select("position")
      .where("job_id", "=", jobId)
      .where("position", "=", Number(id))
      .executeTakeFirst();
    return row?.position;
  });
  let query = database
    .selectFrom("job_events")
    .selectAll()
    .where("job_id", "=", jobId)
    .orderBy("position", window.order)
    .limit(window.rowCountMax);
  if (window.afterValue !== null) query = query.where("position", window.comparison, window.afterValue);
  return pageOf(await query.execute(), page, (row) => ({
    id: String(row.position),
    // The columns hold what `appendJobEvent` wrote.
    type: row.type as JobEventType,
    data: JSON.parse(row.data) as JsonObject,
  }));
}
