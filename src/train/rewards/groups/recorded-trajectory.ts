// Converts a recorded answer and its reward to a trajectory. A client that keeps the choice from the response would
// send the same trajectory.
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type { RecordedCompletion } from "../../../base/domain/recordings/recorded-completion.ts";
import type { MessageRecord, Trajectory } from "../../../base/domain/trajectory.ts";
import { choiceRecord, messagesOf } from "../../trajectories/choice-record.ts";
import type { PlannedAnswer } from "./judge-answers.ts";

/**
 * Returns the trajectory of an answer. If the answer only serves for comparison, the trajectory has no choice: its
 * reward counts in the group's mean, but its tokens are not trained on.
 *
 * @returns null if the recording lacks the answer
 */
export function recordedTrajectory(
  completion: RecordedCompletion,
  { choice: index, reward, peopleCount, use }: PlannedAnswer,
): Trajectory | null {
  const { content, step, startedAt } = completion;
  const choice = content?.choices[index];
  if (content === null || choice === undefined) return null;
  const messages = messagesOf(content.prompt);
  return {
    messagesAndChoices:
      use === "trained"
        ? [...messages, choiceRecord(choice, index, content.promptTokenIds)]
        : asked(messages),
    tools: content.prompt.kind === "conversation" ? content.prompt.tools : null,
    additionalHistories: [],
    reward,
    initialPolicyVersion: step,
    finalPolicyVersion: step,
    metrics: { people: peopleCount },
    metadata: { call: callReference(completion, index), use },
    logs: [],
    startTime: startedAt.toISOString(),
    extra: {},
  };
}

/** Omits the assistant's messages, because training uses all assistant messages of a trajectory without a choice. */
function asked(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  return messages.filter(({ role }) => role !== "assistant");
}
