// Selects operations from a world's history for the rules of the checker.
import type { Operation } from "../history.ts";

/** Returns all operations of one kind. */
export function asked<What extends Operation["what"]>(
  history: readonly Operation[],
  what: What,
): readonly Extract<Operation, { readonly what: What }>[] {
  return history.filter(
    (operation): operation is Extract<Operation, { readonly what: What }> => operation.what === what,
  );
}

/**
 * Returns the models that may have been deleted, each with the earliest time at which the deletion may have happened.
 */
export function deletedModels(history: readonly Operation[]): ReadonlyMap<string, number> {
  const deleted = new Map<string, number>();
  for (const { modelId, calledMs } of asked(history, "delete model"))
    deleted.set(modelId, Math.min(calledMs, deleted.get(modelId) ?? Infinity));
  return deleted;
}
