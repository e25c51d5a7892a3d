// Computes the progress of annotation queues, in total and per annotator.
import { type Kysely, sql } from "kysely";
import type { QueueStats, Remaining } from "../../../base/domain/annotation/annotation-store.ts";
import type { Schema } from "../schema.ts";

/** Returns statistics of the project's queues, in the order of `queueIds`. */
export async function statsOf(
  database: Kysely<Schema>,
  projectId: string,
  queueIds: readonly string[],
  at: Date,
): Promise<readonly QueueStats[]> {
  const stats: QueueStats[] = [];
  for (const queueId of new Set(queueIds)) {
    const queue = await database
      .selectFrom("annotation_queues")
      .select(["last_position", "annotators_per_item"])
      .where("id", "=", queueId)
      .where("project_id", "=", projectId)
      .where("deleted_at", "is", null)
      .executeTakeFirst();
    if (queue === undefined) continue;
    const completed = await database
      .selectFrom("annotation_items")
      .select(({ fn }) => fn.countAll<number>().as("count"))
      .where("queue_id", "=", queueId)
      .where("completed_count", ">=", queue.annotators_per_item)
      .executeTakeFirstOrThrow();
    stats.push({
      queueId,
      totalItems: queue.last_position,
      completedItems: completed.count,
      annotators: await annotatorsOf(database, queueId, at),
    });
  }
  return stats;
}

async function annotatorsOf(
  database: Kysely<Schema>,
  queueId: string,
  at: Date,
): Promise<QueueStats["annotators"]> {
  const count = (state: string) => sql<number>`sum(case when state = ${state} then 1 else 0 end)`;
  const held = sql<number>`sum(case when held_until > ${at.toISOString()} then 1 else 0 end)`;
  const rows = await database
    .selectFrom("annotation_states")
    .select(["annotator", count("completed").as("completed"), count("skipped").as("skipped")])
    .select(held.as("in_progress"))
    .where("queue_id", "=", queueId)
    .groupBy("annotator")
    .orderBy("annotator")
    .execute();
  return rows
    .filter((row) => row.completed + row.skipped + row.in_progress > 0)
    .map(({ in_progress: inProgress, ...row }) => ({ ...row, inProgress }));
}

export async function remainingOf(
  database: Kysely<Schema>,
  queueId: string,
  annotator: string,
  at: Date,
): Promise<Remaining> {
  const now = at.toISOString();
  const { rows } = await sql<{ readonly open: number; readonly held: number }>`
    select count(*) as open, coalesce(sum(case when i.completed_count + h.holders >= q.annotators_per_item then 1 else 0 end), 0) as held
    from annotation_queues q
    join annotation_items i on i.queue_id = q.id and i.completed_count < q.annotators_per_item
    left join (
      select item_id, count(*) as holders from annotation_states
      where queue_id = ${queueId} and state = 'in_progress' and held_until > ${now} and annotator <> ${annotator}
      group by item_id
    ) h on h.item_id = i.id
    where q.id = ${queueId} and not exists (
      select 1 from annotation_states s
      where s.item_id = i.id and s.annotator = ${annotator} and s.state in ('completed', 'skipped')
    )
  `.execute(database);
  return rows[0] ?? { open: 0, held: 0 };
}
