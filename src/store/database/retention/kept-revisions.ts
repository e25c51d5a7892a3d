// Retention rules for feedback contents that were replaced, ordered by the time of replacement.
import { sql } from "kysely";
import { bytesBy, type KeptRow, type KeptRows } from "./kept-rows.ts";
import { bytesIn } from "./entity-bytes.ts";
import { addProjectBytes } from "./project-bytes.ts";

export function keptRevisions(): KeptRows {
  return {
    window: async (queries, after, _scope, limit) => {
      const behind =
        after === null ? sql`` : sql`where (replaced_at, project_id, id, sequence) > (${sql.join(after)})`;
      const { rows } = await sql<RevisionRow>`
        select replaced_at, project_id, id, sequence, octet_length(record) as bytes
        from feedback_revisions ${behind}
        order by replaced_at, project_id, id, sequence limit ${limit}`.execute(queries);
      return rows.map(({ replaced_at: at, project_id: projectId, id, sequence, bytes }): KeptRow => ({
        key: [at, projectId, id, sequence],
        entity: projectId.split("/", 1)[0] ?? "",
        modelId: null,
        at,
        byteCount: bytes,
      }));
    },
    ...bytesIn("revision_bytes"),
    needed: async () => new Set(),
    remove: async (transaction, rows) => {
      const removed: KeptRow[] = [];
      for (const row of rows) {
        const [, projectId, id, sequence] = row.key;
        const gone = await transaction
          .deleteFrom("feedback_revisions")
          .where("project_id", "=", String(projectId))
          .where("id", "=", String(id))
          .where("sequence", "=", Number(sequence))
          .executeTakeFirst();
        if (gone.numDeletedRows > 0n) removed.push(row);
      }
      const projects = bytesBy(removed, ({ key }) => String(key[1]));
      for (const projectId of [...projects.keys()].toSorted())
        await addProjectBytes(transaction, "revision_bytes", projectId, -(projects.get(projectId) ?? 0));
      return removed;
    },
  };
}

interface RevisionRow {
  readonly replaced_at: string;
  readonly project_id: string;
  readonly id: string;
  readonly sequence: number;
  readonly bytes: number;
}
