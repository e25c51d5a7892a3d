// How the answers of a plan begin, for people who look at it before they train.
import type { CompletionStore } from "../../base/domain/recordings/completion-store.ts";
import { type AnswerKey, answerId } from "../../base/domain/rewards/training-source.ts";
import type { Gathered } from "./gather-feedback.ts";
import type { PlannedGroup } from "./groups/plan-groups.ts";

/** Groups that are shown: the texts of others are not read. */
const groupsMax = 100;
const shownLengthMax = 160;

/** By {@link answerId}. The first choice of a call is known by its outline; for others its recording is read. */
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
      texts.set(answerId(answer), beginningOf(text ?? ""));
    }
  }
  return texts;
}

/** What is shown of a text. */
export function beginningOf(text: string): string {
  // Not between the two halves of a character.
  return text
    .trim()
    .slice(0, shownLengthMax)
    .replace(/[\uD800-\uDBFF]$/, "");
}
