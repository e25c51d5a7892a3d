// Converts recorded answers of a model to the messages and choices of trajectories.
import type { RecordedChoice, RecordedPrompt } from "../../base/domain/recordings/recorded-completion.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { ChoiceRecord, MessageRecord } from "../../base/domain/trajectory.ts";

/** Returns a recorded prompt as chat messages. */
export function messagesOf(prompt: RecordedPrompt): readonly MessageRecord[] {
  if (prompt.kind === "conversation") return prompt.messages;
  return prompt.kind === "text" ? [{ role: "user", content: prompt.text }] : [];
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
