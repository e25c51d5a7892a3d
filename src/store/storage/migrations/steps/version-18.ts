// To version 18: what lists say of stored trajectories, made of those that are there.
import { sql, type Transaction } from "kysely";
import { unfoldedLines } from "../../../../base/domain/text/folded-lines.ts";
import { outlinesOf } from "../../../../base/domain/outlines/outline-group.ts";
import type {
  OutlineSource,
  TrajectoryOutline,
} from "../../../../base/domain/outlines/trajectory-outline.ts";
import type { TrajectoryGroup } from "../../../../base/domain/trajectory.ts";
import { storedLines } from "../../groups.ts";
import { type OutlinesToStore, storeOutlines } from "../../outlines.ts";
import type { Schema } from "../../schema.ts";

/**
 * Those of outlines.ts, which a new database has too. The index holds what a list is filtered by, so that one is read
 * without the rows it leaves out.
 */
export const outlineTables: readonly string[] = [
  `create table trajectory_outlines (
    model_id text not null references models (id) on delete cascade,
    sequence integer not null, source text not null, source_id text not null, split text not null,
    step integer, recorded_at text not null, reward double precision not null, part integer not null,
    group_index integer not null, item_index integer not null, content text not null
  )`,
  `create unique index trajectory_outlines_in_order
    on trajectory_outlines (model_id, sequence, reward, step, split, source, recorded_at)`,
  `create table trajectory_counts (
    model_id text not null references models (id) on delete cascade,
    source text not null, split text not null, step integer not null,
    trajectory_count integer not null, reward_sum double precision not null,
    primary key (model_id, source, split, step)
  )`,
];

export async function addVersion18(transaction: Transaction<Schema>): Promise<void> {
  await sql`alter table models add column trajectory_count integer not null default 0`.execute(transaction);
  for (const statement of outlineTables) await sql.raw(statement).execute(transaction);
  for (const source of await sources(transaction)) {
    const table = source.source === "log" ? "trajectory_groups" : "job_groups";
    const lines = storedLines(transaction, table, source.sourceId);
    let place = { part: 0, groupIndex: 0 };
    const outlines: TrajectoryOutline[] = [];
    for await (const pieces of unfoldedLines(lines, (text) => text)) {
      // What was stored of a group; whatever an early one lacks is at its default.
      const { trajectories = [] } = JSON.parse(pieces.join("")) as Partial<TrajectoryGroup>;
      const complete = trajectories.map((trajectory) => ({ ...nothingSaid, ...trajectory }));
      outlines.push(...outlinesOf({ trajectories: complete }, place));
      place = { part: place.part + pieces.length, groupIndex: place.groupIndex + 1 };
    }
    await storeOutlines(transaction, { ...source, outlines });
  }
}

const nothingSaid = { messagesAndChoices: [], additionalHistories: [], reward: 0, metrics: {} } as const;

/** The logs, and the jobs that brought trajectories along, in the order they came. */
async function sources(
  transaction: Transaction<Schema>,
): Promise<readonly Omit<OutlinesToStore, "outlines">[]> {
  const { rows } = await sql<{
    readonly source: OutlineSource;
    readonly id: string;
    readonly model_id: string;
    readonly split: string;
    readonly step: number | null;
    readonly at: string;
  }>`
    select 'log' as source, id, model_id, split, step, recorded_at as at from trajectory_logs
    union all
    select 'job', id, model_id, 'train', null, created_at from jobs where kind = 'rl' and retry_of is null
    order by at, id
  `.execute(transaction);
  return rows.map((row) => ({
    source: row.source,
    sourceId: row.id,
    modelId: row.model_id,
    split: row.split,
    step: row.step,
    recordedAt: new Date(row.at),
  }));
}
