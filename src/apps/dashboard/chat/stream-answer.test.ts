// Tests of the state of a streamed answer.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatCompletionChunk } from "../../client/api.ts";
import { answerStates, noAnswer } from "./stream-answer.ts";

type Chunk = Pick<ChatCompletionChunk, "id" | "choices">;
type Choice = Chunk["choices"][number];

const token = (text: string, logprob: number) => ({
  token: text,
  logprob,
  bytes: [...new TextEncoder().encode(text)],
  top_logprobs: [],
});

async function* stream(
  ...choices: readonly Pick<Choice, "delta" | "logprobs" | "finish_reason">[]
): AsyncGenerator<Chunk> {
  for (const choice of choices) yield { id: "c", choices: [{ index: 0, ...choice }] };
  yield { id: "c", choices: [] };
}

test("accumulates text, reasoning, tokens and times chunk by chunk", async () => {
  let ms = 0;
  const chunks = stream(
    { delta: { role: "assistant" }, logprobs: null, finish_reason: null },
    { delta: { reasoning: "hm" }, logprobs: null, finish_reason: null },
    { delta: { content: "Yes" }, logprobs: { content: [token("Yes", -0.5)] }, finish_reason: null } as never,
    { delta: { content: "." }, logprobs: { content: [token(".", -1)] }, finish_reason: "stop" } as never,
  );
  const states = [];
  for await (const state of answerStates(chunks, () => (ms += 10))) states.push(state);
  assert.deepEqual(
    states.map(({ text, firstTokenMs }) => [text, firstTokenMs]),
    [
      ["", null],
      ["", 20],
      ["Yes", 20],
      ["Yes.", 20],
    ],
  );
  const last = states.at(-1);
  assert.deepEqual(
    [last?.id, last?.thoughts, last?.finishReason, last?.tokens.map(({ text, logprob }) => [text, logprob])],
    [
      "c",
      "hm",
      "stop",
      [
        ["Yes", -0.5],
        [".", -1],
      ],
    ],
  );
});

test("yields no state for a stream without choices", async () => {
  for await (const state of answerStates(stream(), () => 0)) assert.deepEqual(state, noAnswer);
});
