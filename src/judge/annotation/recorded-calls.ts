// Which calls are chat completions that this server recorded.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import type { FindRecorded } from "./item-references.ts";

/** Looked for by one statement. */
const keysMax = 100;

export function recordedIn(store: Pick<CompletionStore, "findOutlines">): FindRecorded {
  return async (projectId, callIds) => {
    const found = new Set<string>();
    for (let start = 0; start < callIds.length; start += keysMax) {
      const keys = callIds.slice(start, start + keysMax).map((requestId) => ({ projectId, requestId }));
      for (const { requestId } of await store.findOutlines(keys)) found.add(requestId);
    }
    return found;
  };
}
