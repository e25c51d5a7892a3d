// Sums the bytes that are stored for an entity from the counts of its models (`model-bytes`) or projects
// (`project-bytes`).
import { sql } from "kysely";
import { isBehind, type KeptRows } from "./kept-rows.ts";
import type { ModelBytes } from "./model-bytes.ts";
import type { ProjectBytes } from "./project-bytes.ts";

/** Returns the part of a retention rule that reads the bytes of entities from a column. */
export function bytesIn(column: ModelBytes | ProjectBytes): Pick<KeptRows, "findEntityOverLimit" | "stored"> {
  const isOfProjects = column === "record_bytes" || column === "revision_bytes";
  const table = sql.table(isOfProjects ? "project_bytes" : "models");
  const sum = sql`sum(${sql.ref(column)})`;
  return {
    findEntityOverLimit: async (queries, behind, bytes) => {
      const { rows } = await sql<{ readonly entity: string; readonly bytes: number }>`
        select entity, ${sum} as bytes from ${table} where ${isBehind(sql`entity`, behind)}
        group by entity having ${sum} > ${bytes} order by entity limit 1`.execute(queries);
      return rows.length === 0 ? null : { of: rows[0].entity, amount: rows[0].bytes - bytes };
    },
    stored: async (queries, entity) => {
      const ofEntity = entity === null ? sql`` : sql`where entity = ${entity}`;
      const { rows } = await sql<{ readonly bytes: number | null }>`
        select ${sum} as bytes from ${table} ${ofEntity}`.execute(queries);
      return rows[0]?.bytes ?? 0;
    },
  };
}
