// For tests: recorded completions in memory.
import type {
  CompletionFilter,
  CompletionStore,
  ListedCompletion,
  StoredCompletion,
} from "../../domain/recordings/completion-store.ts";
import type { CompletionKey } from "../../domain/recordings/completion-key.ts";
import { type Exclusively, jsonBytes, type Tables } from "./memory-tables.ts";

/** Rows that a sweep takes at once. */
const sweptMax = 10;

export function memoryCompletions(exclusively: Exclusively): CompletionStore {
  return {
    add: (completions) =>
      exclusively((tables) => {
        const added = completions.filter(({ modelId }) => tables.models.some(({ id }) => id === modelId));
        for (const completion of added) {
          drop(tables, (other) => isSame(other, completion));
          tables.completionCount += 1;
          const stored: StoredCompletion = {
            ...completion,
            number: tables.completionCount,
            byteCount: completion.content === null ? 0 : jsonBytes(completion.content),
            isWhole: completion.content !== null,
          };
          tables.completions = [...tables.completions, stored];
        }
        return new Set(added.map(({ projectId, requestId }) => JSON.stringify([projectId, requestId]))).size;
      }),
    find: (key) => exclusively(({ completions }) => completions.find((one) => isSame(one, key)) ?? null),
    findOutlines: (keys) =>
      exclusively(({ completions }) =>
        completions.filter((one) => keys.some((key) => isSame(one, key))).map(listed),
      ),
    list: (filter, { after, limit, order }) =>
      exclusively(({ completions }) => {
        const isForward = order === "asc";
        const behind = (isForward ? completions : completions.toReversed()).filter(
          ({ number }) => after === null || (isForward ? number > after : number < after),
        );
        const wanted = behind.filter((one) => isWanted(one, filter));
        const items = wanted.slice(0, limit).map(listed);
        return { items, last: items.at(-1)?.number ?? 0, hasMore: wanted.length > limit };
      }),
    delete: (key) => exclusively((tables) => drop(tables, (one) => isSame(one, key)) > 0),
    deleteOfModel: (modelId) => exclusively((tables) => void drop(tables, (one) => one.modelId === modelId)),
    sweep: ({ endedBefore, countMax }) =>
      exclusively((tables) => {
        const oldest = tables.completions.slice(0, sweptMax);
        const old = oldest.filter(({ endedAt }) => endedBefore !== null && endedAt < endedBefore);
        const surplus = tables.models.flatMap(({ id }) =>
          tables.completions
            .filter((one) => one.modelId === id)
            .slice(0, -(countMax ?? Infinity) || undefined),
        );
        const gone = new Set((old.length > 0 || countMax === null ? old : surplus).slice(0, sweptMax));
        return drop(tables, (one) => gone.has(one));
      }),
  };
}

function drop(tables: Tables, isGone: (completion: StoredCompletion) => boolean): number {
  const count = tables.completions.length;
  tables.completions = tables.completions.filter((one) => !isGone(one));
  return count - tables.completions.length;
}

function isSame(one: CompletionKey, other: CompletionKey): boolean {
  return one.projectId === other.projectId && one.requestId === other.requestId;
}

function listed(completion: StoredCompletion): ListedCompletion {
  const { content: _, ...outline } = completion;
  return outline;
}

function isWanted(one: StoredCompletion, filter: CompletionFilter): boolean {
  const { entity, projectId, modelId, step, endedFrom, endedBefore } = filter;
  return (
    (entity === null || one.projectId.startsWith(`${entity}/`)) &&
    one.projectId === (projectId ?? one.projectId) &&
    one.modelId === (modelId ?? one.modelId) &&
    one.step === (step ?? one.step) &&
    (endedFrom === null || one.endedAt >= endedFrom) &&
    (endedBefore === null || one.endedAt < endedBefore)
  );
}
