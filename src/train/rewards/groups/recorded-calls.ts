// Reads the recorded calls that feedback refers to, a hundred at a time. Reads only their summaries, because planning
// needs no more.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import { readCallReference } from "../../../base/domain/recordings/call-reference.ts";
import type { CompletionStore, ListedCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type { RewardRule } from "../../../base/domain/rewards/reward-rule.ts";
import type { AnswerKey } from "../../../base/domain/rewards/training-source.ts";
import { worseReference } from "../scoring/term-value.ts";
import type { RecordedCall } from "./judge-answers.ts";

/** A recorded call, with the beginnings of its prompt and first answer for display. */
export interface ShownCall extends RecordedCall {
  readonly promptText: string;
  readonly answerText: string;
}

/** Maximum number of request ids in one lookup. */
const keysMax = 100;

/** Recorded calls by their request ids. */
export type Calls = ReadonlyMap<string, ShownCall>;

/**
 * Reads the calls to which the feedback records of a project refer: calls with the judged answer, and calls with the
 * worse answer of a comparison.
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

/** Returns the keys of all answers in these calls; a call has one answer per choice. */
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
  const answerTokenCount = Math.ceil(usage.completionTokens / Math.max(1, choiceCount));
  return {
    requestId,
    modelId,
    step,
    promptHash,
    promptText,
    answerText,
    isWhole,
    choiceCount,
    tokenCount: usage.promptTokens + answerTokenCount,
    answerTokenCount,
  };
}
