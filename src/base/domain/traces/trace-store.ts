// Contract of the store for the traces of projects.
import type { CallStore } from "./traced-call.ts";
import type { TracedFileStore } from "./traced-file.ts";
import type { TableStore } from "./traced-table.ts";

export interface TraceStore {
  readonly tables: TableStore;
  readonly files: TracedFileStore;
  readonly calls: CallStore;
  /**
   * Deletes all objects and calls that a project has published and recorded. Data that is written meanwhile may remain.
   * Small transactions keep other writers from waiting; an interrupted deletion has to be repeated.
   *
   * @returns ids of artifacts with the project's files that no project uses any more
   */
  deleteProject(projectId: string): Promise<readonly string[]>;
}
