// Assigns reinforcement fine-tuning jobs to servers.
import type { Kysely } from "kysely";
import type { FineTuningJob } from "../../../base/domain/fine-tuning/fine-tuning-job.ts";
import type { Schema } from "../schema.ts";
import { jobOf } from "./fine-tuning-rows.ts";

/** Maximum number of waiting jobs among which a server chooses, the oldest first. */
const candidatesMax = 200;

/**
 * Assigns queued jobs, and running jobs of servers without a lease, to the server `owner`, so that it runs at most
 * `countMax`. Returns all jobs that the server runs.
 */
export async function claimJobs(
  database: Kysely<Schema>,
  owner: string,
  countMax: number,
): Promise<readonly FineTuningJob[]> {
  const running = await runningOf(database, owner);
  const waiting = running.length < countMax ? await candidates(database) : [];
  const runningCounts = new Map<string, number>();
  for (const { entity } of running) runningCounts.set(entity, (runningCounts.get(entity) ?? 0) + 1);
  for (let free = countMax - running.length; free > 0 && waiting.length > 0; free--) {
    const countOf = ({ entity }: { readonly entity: string }): number => runningCounts.get(entity) ?? 0;
    const next = waiting.reduce((best, one) => (countOf(one) < countOf(best) ? one : best));
    waiting.splice(waiting.indexOf(next), 1);
    runningCounts.set(next.entity, countOf(next) + 1);
    await take(database, next.id, owner);
  }
  return (await runningOf(database, owner)).map(jobOf);
}

function runningOf(database: Kysely<Schema>, owner: string) {
  return database
    .selectFrom("fine_tuning_jobs")
    .selectAll()
    .where("owner", "=", owner)
    .where("state", "=", "running")
    .orderBy("sequence")
    .execute();
}

function candidates(database: Kysely<Schema>) {
  return unowned(database)
    .select(["fine_tuning_jobs.id", "entity"])
    .orderBy("sequence")
    .limit(candidatesMax)
    .execute();
}

/** Selects reinforcement jobs that no live server runs. Other methods have no progress. */
function unowned(database: Kysely<Schema>) {
  return database
    .selectFrom("fine_tuning_jobs")
    .where("progress", "is not", null)
    .where("state", "in", ["queued", "running"])
    .where((job) =>
      job.or([
        job("owner", "is", null),
        job("owner", "not in", job.selectFrom("servers").select("servers.id")),
      ]),
    );
}

/** Takes a job, unless another server has taken it meanwhile or this server has no lease. */
async function take(database: Kysely<Schema>, id: string, owner: string): Promise<void> {
  await database
    .updateTable("fine_tuning_jobs")
    .set({ owner, state: "running" })
    .where("id", "=", id)
    .where("state", "in", ["queued", "running"])
    .where((job) =>
      job.or([
        job("owner", "is", null),
        job("owner", "not in", job.selectFrom("servers").select("servers.id")),
      ]),
    )
    .where((job) =>
      job.exists(job.selectFrom("servers").select("servers.id").where("servers.id", "=", owner)),
    )
    .execute();
}
