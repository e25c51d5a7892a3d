// The events of a job: written once each, read in pages.
import type { Kysely, Transaction } from "kysely";
import type { JobEvent, JobEventType } from "../../../base/domain/job.ts";
import type { Page, PageRequest } from "../../../base/domain/page.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import { readPage } from "../paging.ts";
import type { Schema } from "../schema.ts";

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
  const events = database.selectFrom("job_events").where("job_id", "=", jobId);
  return await readPage(
    {
      rows: events.selectAll(),
      orderColumn: "sequence",
      contentColumns: ["data"],
      orderValueOf: async (id) => {
        const sequence = sequenceOf(jobId, id);
        if (sequence === undefined) return undefined;
        const row = await events.select("sequence").where("sequence", "=", sequence).executeTakeFirst();
        return row?.sequence;
      },
      itemOf: (row) => ({
        id: eventId(jobId, row.sequence),
        // The columns hold what `appendJobEvent` wrote.
        type: row.type as JobEventType,
        data: JSON.parse(row.data) as JsonObject,
      }),
    },
    page,
  );
}

function eventId(jobId: string, sequence: number): string {
  return `${jobId}:${sequence}`;
}

/** Undefined unless the id is written exactly as `eventId` writes it for this job. */
function sequenceOf(jobId: string, id: string): number | undefined {
  const sequence = Number(id.slice(jobId.length + 1));
  return Number.isSafeInteger(sequence) && eventId(jobId, sequence) === id ? sequence : undefined;
}
