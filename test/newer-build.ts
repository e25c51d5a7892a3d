// For tests: the program as a later build. It has one more migration step, which only adds to the database.
import { type Step, steps } from "../src/store/database/migrations/steps.ts";

const tables = "access_keys feedback jobs model_versions models recorded_completions servers".split(" ");

// Safe cast: in a later build, steps.ts itself would contain this step. No code has read the steps yet.
(steps as Step[]).push({
  adds: [
    ...tables.flatMap((table) => [
      `alter table ${table} add column later_note text`,
      `alter table ${table} add column later_count integer not null default 1`,
      `create index later_${table} on ${table} (later_count)`,
    ]),
    "create table later_marks (job_id text not null references jobs (id) on delete cascade, mark text not null)",
  ],
});

export const { main } = await import("../src/apps/cli/main.ts");
