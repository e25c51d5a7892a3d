// For tests: recorded completions in memory.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type {
  CompletionFilter,
  CompletionStore,
  ListedCompletion,
  StoredCompletion,
} from "../../../base/domain/recordings/completion-store.ts";
import type { CompletionKey } from "../../../base/domain/recordings/completion-key.ts";
import { type Exclusively, jsonBytes, type Tables } from "./memory-tables.ts";

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
      exclusively((tables) => {
        const { completions } = tables;
        const isForward = order === "asc";
        const behind = (isForward ? completions : completions.toReversed()).filter(
          ({ number }) => after === null || (isForward ? number > after : number < after),
        );
        const wanted = behind.filter((one) => isWanted(one, filter, on(tables, one)));
        const items = wanted.slice(0, limit).map(listed);
        return { items, last: items.at(-1)?.number ?? 0, hasMore: wanted.length > limit };
      }),
    feedbackOn: (key, limit) =>
      exclusively((tables) =>
        on(tables, key)
          .toSorted((one, other) => order(one) - order(other) || (one.id < other.id ? -1 : 1))
          .slice(0, limit)
          .map(({ id, feedbackType, vendorRef, vendorUserId, createdAt }) => ({
            id,
            feedbackType,
            vendorRef,
            vendorUserId,
            createdAt,
          })),
      ),
    delete: (key) => exclusively((tables) => drop(tables, (one) => isSame(one, key)) > 0),
    deleteOfModel: (modelId) => exclusively((tables) => void drop(tables, (one) => one.modelId === modelId)),
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

/** The feedback on a completion, or on one of its choices. */
function on({ feedback }: Tables, key: CompletionKey): readonly FeedbackRecord[] {
  return feedback.filter(({ projectId, vendorRef }) => {
    const called = readCallReference(vendorRef);
    return projectId === key.projectId && called !== null && isSame(called, key);
  });
}

function order({ createdAt }: FeedbackRecord): number {
  return createdAt.getTime();
}

function isWanted(
  one: StoredCompletion,
  filter: CompletionFilter,
  feedback: readonly FeedbackRecord[],
): boolean {
  const { entity, projectId, modelId, step, requestId, endedFrom, endedBefore, feedback: wish } = filter;
  const types = feedback.map(({ feedbackType }) => feedbackType);
  const isRated = wish?.kind === "type" ? types.includes(wish.type) : types.length > 0;

  return (
    (entity === null || one.projectId.startsWith(`${entity}/`)) &&
    one.projectId === (projectId ?? one.projectId) &&
    one.modelId === (modelId ?? one.modelId) &&
    one.step === (step ?? one.step) &&
    one.requestId === (requestId ?? one.requestId) &&
    (wish === null || isRated === (wish.kind !== "none")) &&
    (endedFrom === null || one.endedAt >= endedFrom) &&
    (endedBefore === null || one.endedAt < endedBefore)
  );
}
