// State of a streamed answer: its text, its tokens and their timing.
import type { ChatCompletionChunk } from "../../client/api.ts";
import { type ShownToken, TokenReader } from "../trajectories/tokens.ts";

type Chunk = Pick<ChatCompletionChunk, "id" | "choices">;

export interface CalledTool {
  readonly id: string;
  readonly name: string;
  /** Arguments as JSON, as the model wrote them. */
  readonly arguments: string;
}

export interface AnswerState {
  /** Id of the completion; null until the first chunk arrives. */
  readonly id: string | null;
  readonly thoughts: string;
  readonly text: string;
  readonly toolCalls: readonly CalledTool[];
  readonly tokens: readonly ShownToken[];
  readonly finishReason: string | null;
  readonly firstTokenMs: number | null;
  readonly totalMs: number | null;
}

export const noAnswer: AnswerState = {
  id: null,
  thoughts: "",
  text: "",
  toolCalls: [],
  tokens: [],
  finishReason: null,
  firstTokenMs: null,
  totalMs: null,
};

/**
 * Yields the state of an answer after each chunk.
 *
 * @param nowMs returns a monotonic time in milliseconds
 */
export async function* answerStates(
  chunks: AsyncIterable<Chunk>,
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
    const hasCome =
      tokens.length > 0 || Boolean(delta.content) || Boolean(delta.reasoning) || Boolean(delta.tool_calls);
    state = {
      id,
      thoughts: state.thoughts + (delta.reasoning ?? ""),
      text: state.text + (delta.content ?? ""),
      toolCalls: (delta.tool_calls ?? []).reduce(withPart, state.toolCalls),
      tokens: tokens.length === 0 ? state.tokens : [...state.tokens, ...tokens],
      finishReason: finishReason ?? state.finishReason,
      firstTokenMs: state.firstTokenMs ?? (hasCome ? nowMs() - startMs : null),
      totalMs: nowMs() - startMs,
    };
    yield state;
  }
}

/** Adds a part of a tool call to the calls so far. */
function withPart(
  calls: readonly CalledTool[],
  { index, id, function: part }: NonNullable<Chunk["choices"][number]["delta"]["tool_calls"]>[number],
): readonly CalledTool[] {
  const before = calls[index] ?? { id: "", name: "", arguments: "" };
  const after = {
    id: before.id + (id ?? ""),
    name: before.name + (part?.name ?? ""),
    arguments: before.arguments + (part?.arguments ?? ""),
  };
  return [...calls.slice(0, index), after, ...calls.slice(index + 1)];
}
