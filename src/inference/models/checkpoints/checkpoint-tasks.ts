// Tasks of the worker that handles the files of versions, by kind. Tasks only read and write files; they use no
// database.
import type { UnpackedFiles } from "../../../lib/archives/unpack.ts";
import { adapterHash } from "../../architectures/hashes/adapter-hash.ts";
import { checkAdapter, type AdapterCheckRequest, type CheckedAdapter } from "./check-adapter.ts";
import { mergeRows, type RowsToMerge } from "./merge-rows.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { unpackAdapter, type UnpackRequest } from "./unpack-adapter.ts";
import { planExport, type ExportPlanRequest } from "./plan-export.ts";
import type { PlannedFile } from "./row-parts.ts";

/** Input and result of each kind of task. */
export interface CheckpointTasks {
  readonly plan: { readonly task: ExportPlanRequest; readonly result: readonly PlannedFile[] };
  readonly check: { readonly task: AdapterCheckRequest; readonly result: CheckedAdapter };
  readonly hash: { readonly task: { readonly folder: string }; readonly result: string };
  readonly unpack: { readonly task: UnpackRequest; readonly result: UnpackedFiles };
  readonly merge: { readonly task: RowsToMerge; readonly result: Uint8Array };
}

export function openTasks(): TaskHandlers<CheckpointTasks> {
  return {
    plan: planExport,
    check: checkAdapter,
    hash: ({ folder }) => adapterHash(folder),
    unpack: unpackAdapter,
    merge: mergeRows,
  };
}
