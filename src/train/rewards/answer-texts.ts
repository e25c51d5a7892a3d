// Reads the texts of a plan's answers, cut to a prefix, for showing the plan before a job is created.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { type AnswerKey, answerId } from "../../base/domain/rewards/training-source.ts";
import type { Gathered } from "./gather-feedback.ts";
import type { PlannedGroup } from "./groups/plan-groups.ts";

/** Maximum number of groups that are shown with texts. */
const groupsMax = 100;
const shownLengthMax = 160;

/**
 * Returns texts, keyed by {@link answerId}. The summary of a call contains the text of its first choice only; texts of
 * other choices are read from the recording.
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

/** Returns the shown prefix of a text. */
export function previewText(text: string): string {
  // Avoids splitting a surrogate pair.
  return text
    .trim()
    .slice(0, shownLengthMax)
    .replace(/[\uD800-\uDBFF]$/, "");
}
