// Converts a recorded answer and its reward to a trajectory. A client that keeps the choice from the response would
// send the same trajectory.
import { callReference } from "../../../base/domain/recordings/call-reference.ts";
import type {
  RecordedChoice,
  RecordedCompletion,
  RecordedPrompt,
} from "../../../base/domain/recordings/recorded-completion.ts";
import type { JsonObject } from "../../../base/domain/text/json.ts";
import type { ChoiceRecord, MessageRecord, Trajectory } from "../../../base/domain/trajectory.ts";
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

/** Returns a recorded prompt as chat messages. */
export function messagesOf(prompt: RecordedPrompt): readonly MessageRecord[] {
  if (prompt.kind === "conversation") return prompt.messages;
  return prompt.kind === "text" ? [{ role: "user", content: prompt.text }] : [];
}

/** Omits the assistant's messages, because training uses all assistant messages of a trajectory without a choice. */
function asked(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  return messages.filter(({ role }) => role !== "assistant");
}

/** Returns a recorded choice in the format of the chat endpoint, including its token ids. */
export function choiceRecord(
  { text, reasoning, toolCalls, finish, tokenIds, logprobs }: RecordedChoice,
  index: number,
  promptTokenIds: readonly number[],
): ChoiceRecord {
  const calls = toolCalls.map(({ id, name, argumentsText }) => ({
    id,
    type: "function",
    function: { name, arguments: argumentsText },
  }));
  const message: JsonObject = {
    role: "assistant",
    content: text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  const content = logprobs?.map(({ logprob, bytes }, token) => ({
    token: `token_id:${tokenIds[token]}`,
    logprob,
    bytes,
    top_logprobs: [],
  }));
  return {
    index,
    finish_reason: finish.reason,
    message,
    logprobs: content === undefined ? null : { content },
    prompt_token_ids: promptTokenIds,
    token_ids: tokenIds,
  };
}
