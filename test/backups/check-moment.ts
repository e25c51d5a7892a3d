// Checks that restored rows are consistent and include everything acknowledged before the backup.
import type { Cell, DatabaseTables } from "../../src/base/domain/backup/tables.ts";
import { type Acknowledged, batchSize } from "./writing-clients.ts";

type Row = Readonly<Record<string, Cell>>;

/**
 * @param acknowledged writes acknowledged before the backup began
 * @returns descriptions of inconsistencies
 */
export async function momentFaults(
  tables: DatabaseTables,
  acknowledged: Acknowledged,
): Promise<readonly string[]> {
  const rows = await rowsIn(tables);
  const of = (table: string): readonly Row[] => rows.get(table) ?? [];
  return [
    ...acknowledgedFaults(acknowledged, of),
    ...feedbackFaults(of("feedback"), of("recorded_completions")),
    ...jobFaults(of("jobs"), of("job_events"), of("model_versions")),
    ...countFaults(of),
  ];
}

type RowsOf = (table: string) => readonly Row[];

/** Checks that acknowledged writes are stored. */
function acknowledgedFaults({ feedback, jobs, logCount }: Acknowledged, of: RowsOf): readonly string[] {
  const missing = (ids: readonly string[], table: string): readonly string[] => {
    const there = new Set(of(table).map(({ id }) => id));
    const gone = ids.filter((id) => !there.has(id));
    return gone.length === 0 ? [] : [`${gone.length} acknowledged rows of ${table} are not there`];
  };
  const logs = of("trajectory_logs").length;
  return [
    ...missing(feedback, "feedback"),
    ...missing(jobs, "jobs"),
    ...(logs < logCount ? [`there are ${logs} logs, and ${logCount} were acknowledged`] : []),
  ];
}

/**
 * Checks that feedback refers to stored answers, since each answer was recorded before its feedback. Also checks that
 * batches are complete.
 */
function feedbackFaults(feedback: readonly Row[], completions: readonly Row[]): readonly string[] {
  const recorded = new Set(completions.map(({ call_id: id }) => id));
  const ratings = feedback.filter((row) => row["feedback_type"] === "rating");
  const orphans = ratings.filter((row) => !recorded.has(row["call_id"] ?? null));
  const batches = new Map<string, number>();
  for (const { feedback_type: type, payload } of feedback)
    if (type === "batch") batches.set(String(payload), (batches.get(String(payload)) ?? 0) + 1);
  const parts = [...batches.values()].filter((count) => count !== batchSize);
  return [
    ...(orphans.length > 0 ? [`${orphans.length} records are on answers that are not there`] : []),
    ...(parts.length > 0 ? [`${parts.length} batches are there in part`] : []),
  ];
}

/**
 * Checks that each ended job has one final event and, if it succeeded, one version, and that version numbers have no
 * gaps.
 */
function jobFaults(
  jobs: readonly Row[],
  events: readonly Row[],
  versions: readonly Row[],
): readonly string[] {
  const faults: string[] = [];
  const lastEvents = events.filter(({ type }) => type === "training_ended" || type === "training_failed");
  for (const { id, state, result_step: step } of jobs) {
    const endings = lastEvents.filter((event) => event["job_id"] === id).length;
    const made = versions.filter((version) => version["job_id"] === id);
    const hasEnded = state !== "queued" && state !== "running";
    if (endings !== (hasEnded ? 1 : 0)) faults.push(`job ${id} is ${state} with ${endings} last events`);
    if (made.length !== (state === "succeeded" ? 1 : 0))
      faults.push(`job ${id} is ${state} with ${made.length} versions`);
    if (made.some((version) => version["step"] !== step)) faults.push(`job ${id} made another version`);
  }
  const steps = versions.map(({ step }) => Number(step)).toSorted((one, other) => one - other);
  if (steps.some((step, index) => step !== index)) faults.push(`the versions are ${steps.join(", ")}`);
  return faults;
}

/** Checks that stored counts equal the number of rows. */
function countFaults(of: RowsOf): readonly string[] {
  const sum = (table: string, column: string): number =>
    of(table).reduce((total, row) => total + Number(row[column]), 0);
  const bytesOf = (table: string, column: string): number =>
    of(table).reduce((total, row) => total + Buffer.byteLength(String(row[column])), 0);
  const counts = [
    ["completions", sum("models", "completion_count"), of("recorded_completions").length],
    [
      "bytes of completions",
      sum("models", "completion_bytes"),
      sum("recorded_completions", "byte_count") + bytesOf("completion_pieces", "content"),
    ],
    ["bytes of logs", sum("models", "log_bytes"), bytesOf("trajectory_groups", "content")],
    ["bytes of feedback", sum("project_bytes", "record_bytes"), bytesOf("feedback", "payload")],
    ["trajectories", sum("trajectory_counts", "trajectory_count"), of("trajectory_outlines").length],
  ] as const;
  return counts.flatMap(([what, counted, found]) =>
    counted === found ? [] : [`${counted} ${what} are counted, and ${found} are there`],
  );
}

async function rowsIn(tables: DatabaseTables): Promise<ReadonlyMap<string, readonly Row[]>> {
  const snapshot = await tables.snapshot();
  try {
    const all = new Map<string, readonly Row[]>();
    for (const of of await tables.tables()) {
      const rows: Row[] = [];
      for await (const page of snapshot.rows(of))
        for (const cells of page)
          rows.push(Object.fromEntries(of.columns.map((column, index) => [column, cells[index] ?? null])));
      all.set(of.table, rows);
    }
    return all;
  } finally {
    await snapshot.close();
  }
}
