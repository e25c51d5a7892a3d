// Creates the services for all traces of a project: calls, objects, tables and files.
import type { Service } from "../../base/domain/lifecycle.ts";
import type { ArtifactStore } from "../../store/artifacts/artifact-store.ts";
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { reachProject } from "../../base/domain/project.ts";
import type { TraceStore } from "../../base/domain/traces/trace-store.ts";
import { createCallService, type CallService } from "./call-service.ts";
import type { ObjectService } from "./object-service.ts";
import { createReferenceReader, type ReadReference } from "./read-references.ts";
import type { TraceSettings } from "./settings.ts";
import { createTableService, type TableService } from "./table-service.ts";
import { createTracedFiles, type TracedFiles } from "./traced-files.ts";

export interface ProjectTraces {
  readonly tables: TableService;
  /** Service for traced files, which starts and stops with the server. */
  readonly files: TracedFiles & Service;
  readonly calls: CallService;
  readonly read: ReadReference;
  /**
   * Permanently removes all traces of a project, including its objects.
   *
   * @throws ServiceError `invalid`, `forbidden`
   */
  deleteProject(projectId: string, caller: Caller): Promise<void>;
}

export interface TraceDependencies {
  readonly store: TraceStore;
  readonly objects: ObjectService;
  readonly artifacts: ArtifactStore;
  readonly clock: Clock;
  readonly settings: TraceSettings;
  /** Called with the error of a failed sweep of files. The next sweep tries again. */
  readonly onFault: (error: unknown) => void;
}

export function createProjectTraces(dependencies: TraceDependencies): ProjectTraces {
  const { store, objects, clock } = dependencies;
  const files = createTracedFiles({ ...dependencies, store: store.files });
  return {
    tables: createTableService({ store: store.tables, clock }),
    files,
    calls: createCallService({ store: store.calls, clock }),
    read: createReferenceReader({ objects, tables: store.tables }),
    deleteProject: async (projectId, caller) => {
      reachProject(projectId, caller);
      await files.forget(await store.deleteProject(projectId));
    },
  };
}
