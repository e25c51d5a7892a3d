// Contract of the store of traces, by project.
import type { CallStore } from "./traced-call.ts";
import type { TracedFileStore } from "./traced-file.ts";
import type { TableStore } from "./traced-table.ts";

export interface TraceStore {
  readonly tables: TableStore;
  readonly files: TracedFileStore;
  readonly calls: CallStore;
  /**
   * Deletes everything that a project has published and recorded, including objects; data written meanwhile may
   * remain. Uses small transactions so that other writers are not blocked; an interrupted deletion has to be repeated.
   *
   * @returns ids of the artifacts of its files that no project uses any more
   */
  deleteProject(projectId: string): Promise<readonly string[]>;
}
