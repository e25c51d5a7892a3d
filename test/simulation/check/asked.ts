// Queries of a history, for the rules.
import type { Operation } from "../history.ts";

/** The operations of one kind. */
export function asked<What extends Operation["what"]>(
  history: readonly Operation[],
  what: What,
): readonly Extract<Operation, { readonly what: What }>[] {
  return history.filter(
    (operation): operation is Extract<Operation, { readonly what: What }> => operation.what === what,
  );
}

/** The models that somebody may have deleted, with the time from which on. */
export function deletedModels(history: readonly Operation[]): ReadonlyMap<string, number> {
  const deleted = new Map<string, number>();
  for (const { modelId, calledMs } of asked(history, "delete model"))
    deleted.set(modelId, Math.min(calledMs, deleted.get(modelId) ?? Infinity));
  return deleted;
}
