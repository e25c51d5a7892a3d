// State of a streamed answer: its text, its tokens and their timing.
import type { ChatCompletionChunk } from "../../client/api.ts";
import { type ShownToken, TokenReader } from "../trajectories/tokens.ts";

export interface Sampling {
  readonly temperature: number;
  readonly topP: number;
  readonly maxTokens: number;
  /** Seed of the sampling. Both sides use the same one, so that only the models differ. */
  readonly seed: number;
}

export interface AnswerState {
  /** Id of the completion; null until the first chunk arrives. */
  readonly id: string | null;
  readonly thoughts: string;
  readonly text: string;
  readonly tokens: readonly ShownToken[];
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
}

export const noAnswer: AnswerState = {
  id: null,
  thoughts: "",
  text: "",
  tokens: [],
  finishReason: null,
  firstTokenMs: null,
  totalMs: null,
};

/** Number of alternatives requested for each token. */
const alternativeCount = 4;

export interface Message {
  readonly role: "system" | "user";
  readonly content: string;
}

/** Returns the request body for one side of a comparison. */
export function answerBody(model: string, messages: readonly Message[], sampling: Sampling) {
  return {
    model,
    messages,
    logprobs: true,
    top_logprobs: alternativeCount,
    temperature: sampling.temperature,
    top_p: sampling.topP,
    max_completion_tokens: sampling.maxTokens,
    seed: sampling.seed,
  };
}

/**
 * Yields the state of an answer after each chunk.
 *
 * @param nowMs returns a monotonic time in milliseconds
 */
export async function* answerStates(
  chunks: AsyncIterable<Pick<ChatCompletionChunk, "id" | "choices">>,
  nowMs: () => number,
): AsyncGenerator<AnswerState> {
  const startMs = nowMs();
  const reader = new TokenReader();
  let state = noAnswer;
  for await (const { id, choices } of chunks) {
    const choice = choices[0];
    if (choice === undefined) continue;
    const { delta, logprobs, finish_reason: finishReason } = choice;
    const tokens = (logprobs?.content ?? []).map((body) => reader.read(body));
    const hasCome = tokens.length > 0 || Boolean(delta.content) || Boolean(delta.reasoning);
    state = {
      id,
      thoughts: state.thoughts + (delta.reasoning ?? ""),
      text: state.text + (delta.content ?? ""),
      tokens: tokens.length === 0 ? state.tokens : [...state.tokens, ...tokens],
      finishReason: finishReason ?? state.finishReason,
      firstTokenMs: state.firstTokenMs ?? (hasCome ? nowMs() - startMs : null),
      totalMs: nowMs() - startMs,
    };
    yield state;
  }
}
