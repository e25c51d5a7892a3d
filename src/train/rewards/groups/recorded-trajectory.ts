// Converts a recorded answer and its reward to a trajectory. The result equals the trajectory that a client would send
// after keeping the choice from the response.
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
 * Returns the trajectory of an answer. If the answer is only compared with others, the trajectory has no choice: the
 * reward counts in the group's mean, but the tokens are excluded from training.
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

/** Returns the prompt as messages. */
export function messagesOf(prompt: RecordedPrompt): readonly MessageRecord[] {
  if (prompt.kind === "conversation") return prompt.messages;
  return prompt.kind === "text" ? [{ role: "user", content: prompt.text }] : [];
}

/** Omits the assistant's messages. In a trajectory without a choice, all assistant messages would be trained on. */
function asked(messages: readonly MessageRecord[]): readonly MessageRecord[] {
  return messages.filter(({ role }) => role !== "assistant");
}

/** Returns a choice in the chat endpoint's form, with token ids. */
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
