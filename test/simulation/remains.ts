// Reads the final state of a simulated world from the tables and the disk. Does not use the stores, because a faulty
// store would hide its own faults.
import type { Remains } from "./history.ts";
import { sharedFolder } from "./server.ts";
import type { SimulatedDatabase } from "./world/database.ts";
import type { SimulatedDisk } from "./world/disk.ts";

/** Returns the final state without `wasFull`, which is known only from the world's faults. */
export function remainsOf(database: SimulatedDatabase, disk: SimulatedDisk): Omit<Remains, "wasFull"> {
  const texts = (sql: string): readonly string[] => database.rows(sql).map((row) => String(row["name"]));
  return {
    models: texts("select id as name from models order by sequence"),
    jobs: database
      .rows(
        `select id, model_id, state, result_step, pins, idempotency_key from jobs
        left join job_idempotency on job_id = id order by sequence`,
      )
      .map((row) => ({
        id: String(row["id"]),
        modelId: String(row["model_id"]),
        state: String(row["state"]),
        resultStep: row["result_step"] === null ? null : Number(row["result_step"]),
        key: row["idempotency_key"] === null ? null : String(row["idempotency_key"]),
        // Safe cast: the job store writes this form.
        pins: JSON.parse(String(row["pins"])) as Remains["jobs"][number]["pins"],
        events: database
          .rows("select job_id, type from job_events order by sequence")
          .filter((event) => event["job_id"] === row["id"])
          .map((event) => String(event["type"])),
      })),
    versions: database
      .rows(
        "select model_id, step, job_id, adapter_hash, is_deleted from model_versions order by model_id, step",
      )
      .map((row) => ({
        modelId: String(row["model_id"]),
        step: Number(row["step"]),
        jobId: row["job_id"] === null ? null : String(row["job_id"]),
        adapterHash: row["adapter_hash"] === null ? null : String(row["adapter_hash"]),
        isDeleted: row["is_deleted"] === 1,
      })),
    files: texts("select id as name from files order by sequence"),
    answers: texts("select call_id as name from recorded_completions order by sequence"),
    feedback: database.rows("select id, payload from feedback order by sequence").map((row) => ({
      id: String(row["id"]),
      note: (JSON.parse(String(row["payload"])) as { readonly note: string }).note,
    })),
    disk: filesOf(disk),
  };
}

function filesOf(disk: SimulatedDisk): ReadonlyMap<string, string | null> {
  const found = new Map<string, string | null>();
  const visit = (path: string): void => {
    const node = disk.get(path);
    if (node.kind === "file") found.set(path, Buffer.from(node.content).toString("utf8"));
    else if (node.entries.size === 0) found.set(path, null);
    else for (const name of node.entries.keys()) visit(`${path}/${name}`);
  };
  for (const name of disk.folder("/").entries.keys()) visit(`/${name}`);
  return new Map([...found].map(([path, content]) => [pathInRemains(path), content]));
}

/** Returns the path relative to the shared folder if the file is in it, or else the whole path. */
function pathInRemains(path: string): string {
  return path.startsWith(`/${sharedFolder}/`) ? path.slice(sharedFolder.length + 1) : path;
}
