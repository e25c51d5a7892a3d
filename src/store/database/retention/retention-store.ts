// Removes expired data. For each kind of data, another module decides which rows have expired.
import { type Kysely, sql } from "kysely";
import type { KeptKind, RetentionStore } from "../../../base/domain/retention/retention-store.ts";
import type { Connection } from "../dialect.ts";
import type { Schema } from "../schema.ts";
import { clearRemoved } from "./clear-removed.ts";
import { keptJobs } from "./kept-jobs.ts";
import { keptRecordings } from "./kept-recordings.ts";
import { keptRevisions } from "./kept-revisions.ts";
import type { KeptRows } from "./kept-rows.ts";
import { keptTrajectories } from "./kept-trajectories.ts";
import { listRemoved, noteRemoved } from "./removed-data.ts";
import { bytesIn } from "./entity-bytes.ts";
import { sweepSome } from "./sweep-some.ts";

/** Key of the only row in the table that says which server sweeps. */
const place = "retention";

/** Creates the retention store on a migrated database. */
export function createRetentionStore({ queries }: Connection): RetentionStore {
  const kinds: Readonly<Record<KeptKind, KeptRows>> = {
    trajectories: keptTrajectories(),
    jobs: keptJobs(),
    recordings: keptRecordings(),
    revisions: keptRevisions(),
  };
  return {
    claim: async (owner, at, until) => {
      const { rows } = await sql<{ readonly owner: string }>`
        insert into sweepers (place, owner, until) values (${place}, ${owner}, ${until.toISOString()})
        on conflict (place) do update set owner = excluded.owner, until = excluded.until
          where sweepers.owner = excluded.owner or sweepers.until <= ${at.toISOString()}
            or sweepers.owner not in (select id from servers)
        returning owner`.execute(queries);
      return rows.length > 0;
    },
    release: async (owner) => {
      await sql`delete from sweepers where place = ${place} and owner = ${owner}`.execute(queries);
    },
    sweep: (kind, limits, options) =>
      queries.transaction().execute(async (transaction) => {
        const step = await sweepSome(transaction, kinds[kind], limits, options);
        if (!options.isDry && step.removed.length > 0)
          await noteRemoved(transaction, kind, step.removed, options.at);
        return step;
      }),
    clear: () => clearRemoved(queries),
    removed: (entity, limit) => listRemoved(queries, entity, limit),
    stored: async (entity) => ({
      trajectories: await kinds.trajectories.stored(queries, entity),
      jobs: await kinds.jobs.stored(queries, entity),
      recordings: await kinds.recordings.stored(queries, entity),
      revisions: await kinds.revisions.stored(queries, entity),
      feedback: await bytesIn("record_bytes").stored(queries, entity),
      files: await storedIn(queries, "files", entity),
      traces: await storedIn(queries, "traced_files", entity),
    }),
  };
}

/** Returns the number of stored bytes. It includes files, whose sizes are in their database rows. */
async function storedIn(
  queries: Kysely<Schema>,
  table: "files" | "traced_files",
  entity: string | null,
): Promise<number> {
  const ofEntity = entity === null ? sql`` : sql`where entity = ${entity}`;
  const { rows } = await sql<{ readonly bytes: number | null }>`
    select sum(byte_count) as bytes from ${sql.table(table)} ${ofEntity}`.execute(queries);
  return rows[0]?.bytes ?? 0;
}
