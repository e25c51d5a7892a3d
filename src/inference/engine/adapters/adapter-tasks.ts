// Entry point of the thread that reads adapters of one model.
import type { AdapterReference } from "../../../base/domain/generation.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import type { TaskHandlers } from "../../../base/processes/tasks.ts";
import { readAdapter, type AdapterFeeds } from "./read-adapter.ts";

export interface AdapterTasks {
  readonly read: {
    readonly task: Pick<AdapterReference, "folder" | "hash">;
    readonly result: AdapterFeeds;
  };
}

export function openTasks(config: ModelConfig): TaskHandlers<AdapterTasks> {
  return { read: (reference) => readAdapter(reference, config) };
}
