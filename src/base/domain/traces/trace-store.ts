// What is stored of traces, project by project.
import type { CallStore } from "./traced-call.ts";
import type { TracedFileStore } from "./traced-file.ts";
import type { TableStore } from "./traced-table.ts";

export interface TraceStore {
  readonly tables: TableStore;
  readonly files: TracedFileStore;
  readonly calls: CallStore;
  /**
   * Removes all that a project has published and recorded, also its objects; what comes meanwhile may stay. Goes portion by
   * portion, so that others can write in between: who dies on the way begins again.
   *
   * @returns the artifacts of its files, which nobody knows any more
   */
  deleteProject(projectId: string): Promise<readonly string[]>;
}
