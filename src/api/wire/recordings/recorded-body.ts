// API format of a recorded completion: its summary, the prompt as it was sent, the sampling parameters, and each choice
// as it was answered. The recorded messages together with one choice are a trajectory that can be sent for training.
import { setImmediate as nextTurn } from "node:timers/promises";
import { Type } from "typebox";
import type { Cost } from "../../../base/domain/costs/prices.ts";
import type { CallFeedback, StoredCompletion } from "../../../base/domain/recordings/completion-store.ts";
import type {
  RecordedChoice,
  RecordedPrompt,
  RecordedSampling,
} from "../../../base/domain/recordings/recorded-completion.ts";
import { choiceSchema, tokenIds } from "../chat/chat-answer-schema.ts";
import { tokenEntry } from "../chat/chat-logprobs.ts";
import { finishBody } from "../chat/chat-response.ts";
import { anyObject } from "../fields/any-object.ts";
import { answerOf } from "../fields/resource.ts";
import { orNull } from "../nullable.ts";
import { promptFields } from "../trajectory.ts";
import { summaryAnswer, recordedMessage } from "./stored-chats.ts";

const feedbackAnswer = answerOf<CallFeedback>()("CallFeedback", {
  id: Type.String(),
  feedback_type: Type.String(),
  vendor_ref: Type.String({
    description: "Reference of the completion, or of the choice, that the feedback is about.",
  }),
  vendor_user_id: Type.String({ description: "Owner of the key that wrote the feedback." }),
  created_at: Type.String({ format: "date-time" }),
});

const samplingAnswer = answerOf<RecordedSampling>()("RecordedSampling", {
  temperature: Type.Number(),
  top_p: Type.Number(),
  top_k: Type.Integer(),
  min_p: Type.Number(),
  top_n_sigma: Type.Number(),
  repetition_penalty: Type.Number(),
  frequency_penalty: Type.Number(),
  presence_penalty: Type.Number(),
  seed: Type.Number({ description: "Seed of the request, or the seed that the server chose for it." }),
  max_tokens: Type.Integer(),
  min_tokens: Type.Integer(),
  stop: Type.Array(Type.String()),
  use_beam_search: [Type.Boolean(), ({ isSearched }) => isSearched],
  is_held: Type.Boolean({
    description:
      "True if a constraint, a logit bias, bad words or a logits processor restricted or changed the tokens.",
  }),
});

export const recordedSchema = Type.Object(
  {
    ...summaryAnswer.schema.properties,
    messages: orNull(Type.Array(anyObject), {
      description: "The request's messages as sent; null for a text completion, and if `is_whole` is false.",
    }),
    tools: orNull(Type.Array(anyObject), {
      description: "The request's tools as sent; null if it had none.",
    }),
    ...promptFields,
    prompt_text: orNull(Type.String(), {
      description: "Prompt of a text completion; null if the prompt was messages or token ids.",
    }),
    prompt_token_ids: orNull(tokenIds, {
      description: "Token ids of the prompt; null if `is_whole` is false.",
    }),
    sampling: orNull(samplingAnswer.schema, {
      description: "Sampling parameters in effect, including defaults; null if `is_whole` is false.",
    }),
    choices: Type.Array(choiceSchema, {
      description: "The choices as returned; empty if `is_whole` is false.",
    }),
    feedback: Type.Array(feedbackAnswer.schema, {
      description: "Feedback on the completion and its choices, oldest first; at most 1,000 records.",
    }),
  },
  { title: "RecordedCompletion" },
);

/**
 * Yields the JSON of a recorded completion in pieces. It has about a hundred characters per token, so other work may
 * run between the choices.
 */
export async function* recordedText(
  stored: StoredCompletion & Cost,
  feedback: readonly CallFeedback[],
): AsyncGenerator<string, void> {
  const { content } = stored;
  const head = {
    ...summaryAnswer.body(stored),
    ...promptBody(content?.prompt ?? null),
    prompt_token_ids: content?.promptTokenIds ?? null,
    sampling: content && samplingAnswer.body(content.sampling),
    feedback: feedback.map(feedbackAnswer.body),
  };
  yield `${JSON.stringify(head).slice(0, -1)},"choices":[`;
  for (const [index, choice] of (content?.choices ?? []).entries()) {
    yield index === 0 ? "" : ",";
    yield* choiceText(choice, index);
    await nextTurn();
  }
  yield "]}";
}

/** Maximum number of tokens whose log-probabilities are written in one piece. */
const entriesMax = 500;

function* choiceText(choice: RecordedChoice, index: number): Generator<string, void> {
  const { tokenIds: ids, logprobs } = choice;
  const head = JSON.stringify({
    index,
    message: recordedMessage(choice),
    ...finishBody(choice.finish),
    token_ids: ids,
  });
  yield `${head.slice(0, -1)},"logprobs":`;
  if (logprobs === null) yield "null}";
  else yield* logprobsText(ids, logprobs);
}

function* logprobsText(
  ids: readonly number[],
  logprobs: NonNullable<RecordedChoice["logprobs"]>,
): Generator<string, void> {
  yield '{"refusal":null,"content":[';
  for (let start = 0; start < logprobs.length; start += entriesMax) {
    const entries = logprobs.slice(start, start + entriesMax).map(({ logprob, bytes }, place) =>
      JSON.stringify(
        // Identifies the token by its id, because two tokens may have the same text. Answers of trained models do this
        // too.
        tokenEntry({ tokenId: ids[start + place] ?? 0, text: "", logprob, bytes, alternatives: [] }, true),
      ),
    );
    yield (start === 0 ? "" : ",") + entries.join(",");
  }
  yield "]}}";
}

/** Returns the recorded prompt under the field names of a request. */
function promptBody(prompt: RecordedPrompt | null): object {
  const conversation = prompt?.kind === "conversation" ? prompt : null;
  return {
    messages: conversation?.messages ?? null,
    tools: conversation?.tools ?? null,
    documents: conversation?.documents ?? null,
    chat_template: conversation?.template ?? null,
    chat_template_kwargs: conversation?.templateArguments ?? null,
    reasoning_effort: conversation?.reasoningEffort ?? null,
    add_generation_prompt: conversation?.addGenerationPrompt ?? null,
    continue_final_message: conversation?.continueFinalMessage ?? null,
    add_special_tokens:
      prompt?.kind === "text" ? prompt.addSpecialTokens : (conversation?.addSpecialTokens ?? null),
    truncate_prompt_tokens: prompt?.truncation ?? null,
    prompt_text: prompt?.kind === "text" ? prompt.text : null,
  };
}

export const deletedSchema = Type.Object(
  {
    id: Type.String(),
    object: Type.Enum(["chat.completion.deleted"]),
    deleted: Type.Boolean(),
  },
  { title: "RecordedDeletion" },
);
