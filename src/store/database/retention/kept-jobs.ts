// Retention rules for the training data and events of ended jobs, ordered by end time.
import { sql } from "kysely";
import { bytesIn } from "./entity-bytes.ts";
import { keyText, type KeptRows } from "./kept-rows.ts";
import { idOf, rowOf, subtractRemoved } from "./kept-trajectories.ts";

export function keptJobs(): KeptRows {
  return {
    window: async (queries, after, _scope, limit) => {
      const behind = after === null ? sql`` : sql`and (job.ended_at, job.id) > (${after[0]}, ${after[1]})`;
      const { rows } = await sql<Parameters<typeof rowOf>[0]>`
        select job.ended_at as at, job.id, job.model_id, model.entity, job.content_bytes as bytes
        from jobs as job join models as model on model.id = job.model_id
        where job.ended_at is not null and job.data_removed_at is null ${behind}
        order by job.ended_at, job.id limit ${limit}`.execute(queries);
      return rows.map(rowOf);
    },
    ...bytesIn("job_bytes"),
    needed: async (queries, rows) => {
      // Keeps all jobs of a model while a replay of one of its jobs is queued or running, because the replay may have
      // to repeat any earlier job.
      const { rows: found } = await sql<{ readonly ended_at: string; readonly id: string }>`
        select job.ended_at, job.id from jobs as job where job.id in (${sql.join(rows.map(idOf))}) and (
          exists (select 1 from jobs as other where other.model_id = job.model_id and other.state in ('queued', 'running')
            and (other.retry_of = job.id or other.replay_of is not null))
          or exists (select 1 from model_versions as version
            where version.model_id = job.model_id and version.is_pinned = 1 and version.is_deleted = 0
            and version.job_id in (select maker.id from jobs as maker where maker.model_id = job.model_id
              and (maker.id = job.id or maker.retry_of = job.id)))
        )`.execute(queries);
      return new Set(found.map(({ ended_at, id }) => keyText([ended_at, id])));
    },
    remove: async (transaction, rows, at) => {
      const marked = await transaction
        .updateTable("jobs")
        .set({ data_removed_at: at.toISOString() })
        .where("id", "in", rows.map(idOf))
        .where("data_removed_at", "is", null)
        .returning("id")
        .execute();
      return subtractRemoved(transaction, "job_bytes", rows, marked);
    },
  };
}
