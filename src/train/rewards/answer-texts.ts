// Reads the beginnings of the answers that a planned job would train on. Users see these texts in the plan, before they
// create the job.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { type AnswerKey, answerId } from "../../base/domain/rewards/training-source.ts";
import type { Gathered } from "./gather-feedback.ts";
import type { PlannedGroup } from "./groups/plan-groups.ts";

/** Maximum number of answer groups that a plan shows with texts. */
const groupsMax = 100;
const shownLengthMax = 160;

/**
 * Returns the beginnings of answers, keyed by {@link answerId}. The summary of a recorded call contains only the text
 * of its first choice, so the texts of other choices come from the full recording.
 */
export async function readTexts(
  completions: Pick<CompletionStore, "find">,
  groups: readonly PlannedGroup[],
  { calls, model }: Pick<Gathered, "calls" | "model">,
): Promise<ReadonlyMap<string, string>> {
  const answers: readonly AnswerKey[] = groups.slice(0, groupsMax).flatMap((group) => group.answers);
  const texts = new Map<string, string>();
  for (const requestId of new Set(answers.map((answer) => answer.requestId))) {
    const asked = answers.filter((answer) => answer.requestId === requestId);
    const isFirst = asked.every(({ choice }) => choice === 0);
    const completion = isFirst ? null : await completions.find({ projectId: model.projectId, requestId });
    for (const answer of asked) {
      const text =
        answer.choice === 0
          ? calls.get(requestId)?.answerText
          : completion?.content?.choices[answer.choice]?.text;
      texts.set(answerId(answer), previewText(text ?? ""));
    }
  }
  return texts;
}

/** Returns the beginning of a text, as shown with a plan. */
export function previewText(text: string): string {
  // Does not cut a surrogate pair in two.
  return text
    .trim()
    .slice(0, shownLengthMax)
    .replace(/[\uD800-\uDBFF]$/, "");
}
