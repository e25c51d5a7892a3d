// Contract of the store of traces, by project.
import type { CallStore } from "./traced-call.ts";
import type { TracedFileStore } from "./traced-file.ts";
import type { TableStore } from "./traced-table.ts";

export interface TraceStore {
  readonly tables: TableStore;
  readonly files: TracedFileStore;
  readonly calls: CallStore;
  /**
   * Deletes everything that a project has published and recorded, including objects; concurrent writes may survive.
   * Works in small transactions so that others can write in between; an interrupted deletion has to be repeated.
   *
   * @returns the artifacts of its files, which nothing refers to any more
   */
  deleteProject(projectId: string): Promise<readonly string[]>;
}
