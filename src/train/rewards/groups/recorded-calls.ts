// Reads the recorded calls to which feedback refers, a hundred at a time. Only the summaries are read, because
// planning needs no more.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { CompletionStore, ListedCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import type { AnswerKey } from "../../../base/domain/rewards/training-source.ts";
import { worseReference } from "../scoring/term-value.ts";
import type { RecordedCall } from "./judge-answers.ts";

/** A call with prefixes of its prompt and first answer. */
export interface ShownCall extends RecordedCall {
  readonly promptText: string;
  readonly answerText: string;
}

/** Maximum number of keys in one lookup. */
const keysMax = 100;

/** Calls by request id. */
export type Calls = ReadonlyMap<string, ShownCall>;

/**
 * Reads the calls to which the records of a project refer, either as the judged answer or as the worse answer of a
 * comparison.
 */
export async function readCalls(
  completions: Pick<CompletionStore, "findOutlines">,
  rule: RewardRule,
  projectId: string,
  records: readonly FeedbackRecord[],
): Promise<Calls> {
  const named = records.flatMap((record) =>
    referencesOf(rule, record).flatMap((reference) => {
      const part = readCallReference(reference);
      return part?.projectId === projectId ? [part.requestId] : [];
    }),
  );
  const requestIds = [...new Set(named)];
  const calls = new Map<string, ShownCall>();
  for (let start = 0; start < requestIds.length; start += keysMax) {
    const keys = requestIds.slice(start, start + keysMax).map((requestId) => ({ projectId, requestId }));
    for (const completion of await completions.findOutlines(keys))
      calls.set(completion.requestId, callOf(completion));
  }
  return calls;
}

/** Returns the keys of all answers in these calls. */
export function answersOf(calls: Calls): readonly AnswerKey[] {
  return [...calls.values()].flatMap(({ requestId, choiceCount }) =>
    Array.from({ length: choiceCount }, (_, choice) => ({ requestId, choice })),
  );
}

function referencesOf({ terms }: RewardRule, record: FeedbackRecord): readonly string[] {
  const worse = terms.flatMap((term) =>
    term.kind === "preference" ? (worseReference(term, record) ?? []) : [],
  );
  return [record.vendorRef, ...worse];
}

function callOf(completion: ListedCompletion): ShownCall {
  const { requestId, modelId, step, promptHash, promptText, answerText, usage, isWhole } = completion;
  const choiceCount = completion.finishReasons.length;
  return {
    requestId,
    modelId,
    step,
    promptHash,
    promptText,
    answerText,
    isWhole,
    choiceCount,
    tokenCount: usage.promptTokens + Math.ceil(usage.completionTokens / Math.max(1, choiceCount)),
  };
}
