// Tests how an answer's calls and thoughts become deltas and a finish, regardless of how tokens are batched.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatDelta } from "../../../base/domain/chat.ts";
import type { GenerationEvent } from "../../../base/domain/generation.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import type { GenerationPlan } from "../plan-generation.ts";
import { plainReplies } from "../testing/plain-replies.ts";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";
import { callFormats } from "../tools/call-formats.ts";
import { DeltaReader } from "./delta-reader.ts";

const tokenizer = await loadTokenizer("test/fixtures/tool-model");
const endOfTextId = 2;
const call = '<tool_call>\n{"name": "f", "arguments": {"a": "é"}}\n</tool_call>';
const idsOf = (text: string): readonly number[] => tokenizer.encode(text, { addSpecialTokens: false });

interface Answered {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly string[];
  readonly finish: ChatDelta["finish"];
  readonly tokenCount: number;
  readonly stopped: readonly number[];
  readonly deltas: readonly ChatDelta[];
}

/** Reads an answer of a model that thinks and may call the function f. */
async function answer(
  said: string,
  {
    reason = "stop",
    tokensAtOnce = 1,
    areParallel = true,
    finishOfCalls = "tool_calls",
    changes = {},
  }: {
    readonly reason?: "stop" | "length";
    readonly tokensAtOnce?: number;
    readonly areParallel?: boolean;
    readonly finishOfCalls?: "tool_calls" | "stop";
    readonly changes?: RequestChanges;
  } = {},
): Promise<Answered> {
  const request = chatRequest(changes);
  const stopped: number[] = [];
  const generation = { stopChoice: (choice: number) => void stopped.push(choice) };
  const calls = { format: callFormats.hermes, names: new Set(["f"]), areParallel };
  const plan = {
    generation: {
      prompt: { tokenIds: [1], adapter: null },
      outputs: { topLogprobCount: null, promptLogprobCount: null },
      stopping: { minTokens: 0, maxTokens: 100, stopTokenIds: [endOfTextId] },
      choices: { kind: "sample", count: 1 },
    },
    endOfTextId,
    reply: { form: { thought: "possible", calls }, constraint: null, finishOfCalls },
    // Safe cast: the reader uses only these fields.
  } as unknown as GenerationPlan;
  const markIds = new Set(["<tool_call>", "</tool_call>", "<think>", "</think>"].flatMap(idsOf));
  const deltas: ChatDelta[] = [];
  const reader = new DeltaReader(generation, plan, {
    base: { tokenizer, replies: { ...plainReplies, markIds } },
    request,
  });
  for (const batch of eventsOf(idsOf(said), reason, tokensAtOnce)) deltas.push(...(reader.read(batch) ?? []));
  assert.ok(reader.isFinished);
  const joined = (of: (delta: ChatDelta) => string): string => deltas.map(of).join("");
  const toolCalls = deltas.flatMap((delta) => delta.toolCalls);
  const names = toolCalls.filter(({ name }) => name !== undefined);
  return {
    text: joined(({ text }) => text),
    reasoning: joined(({ reasoning }) => reasoning),
    calls: names.map(({ name, index }) => {
      const own = toolCalls.filter((delta) => delta.index === index);
      return `${name} ${own.map(({ argumentsText }) => argumentsText).join("")}`;
    }),
    finish: deltas.at(-1)?.finish ?? null,
    tokenCount: deltas.at(-1)?.choiceTokens ?? 0,
    stopped,
    deltas,
  };
}

function* eventsOf(
  ids: readonly number[],
  reason: "stop" | "length",
  tokensAtOnce: number,
): Generator<readonly GenerationEvent[]> {
  yield [{ kind: "prompt-computed", cachedTokenCount: 0 }];
  const all = reason === "stop" ? [...ids, endOfTextId] : ids;
  for (let at = 0; at < all.length; at += tokensAtOnce) {
    const tokens = all.slice(at, at + tokensAtOnce).map((id) => ({ id, logprob: -1, alternatives: [] }));
    yield [{ kind: "tokens", choice: 0, tokens }];
  }
  const stopTokenId = reason === "stop" ? endOfTextId : null;
  yield [{ kind: "choice-finished", choice: 0, reason, stopTokenId }];
}

test("separates thought, text and calls, however tokens are batched", async () => {
  for (const tokensAtOnce of [1, 3, 1000]) {
    const answered = await answer(`<think>\nHm\n</think>\n\nSo:\n${call}\n${call}`, { tokensAtOnce });
    assert.equal(answered.reasoning, "Hm");
    assert.equal(answered.text, "So:");
    assert.deepEqual(answered.calls, Array<string>(2).fill('f {"a": "é"}'));
    assert.deepEqual(answered.finish, { reason: "tool_calls", stopReason: null, matchedStop: null });
    for (const { toolCalls } of answered.deltas)
      assert.equal(new Set(toolCalls.map(({ index }) => index)).size, toolCalls.length, "one delta a call");
  }
});

test("keeps the finish reason of a truncated answer, and its incomplete call", async () => {
  const { calls, finish } = await answer(call.slice(0, 45), { reason: "length" });
  assert.deepEqual(calls, ['f {"a": ']);
  assert.equal(finish?.reason, "length");
});

test("stops the choice after the only allowed call and does not count later tokens", async () => {
  const one = idsOf(call).length;
  for (const tokensAtOnce of [1, 1000]) {
    const answered = await answer(`${call} and more`, { areParallel: false, tokensAtOnce });
    assert.deepEqual([answered.text, answered.calls.length, answered.tokenCount], ["", 1, one]);
    assert.deepEqual(answered.finish, { reason: "tool_calls", stopReason: null, matchedStop: null });
    assert.deepEqual(answered.stopped, [0]);
  }
});

test("reports the finish of a required named call as stop", async () => {
  assert.equal((await answer(call, { areParallel: false, finishOfCalls: "stop" })).finish?.reason, "stop");
  assert.equal((await answer("no call")).finish?.reason, "stop");
});

test("ends an answer at a stop string within a thought or within a call", async () => {
  const thought = await answer("<think>\nHm STOP no", { changes: { stopping: { stop: ["STOP"] } } });
  assert.deepEqual([thought.reasoning, thought.text, thought.finish?.matchedStop], ["Hm ", "", "STOP"]);
  const inCall = await answer(call, { changes: { stopping: { stop: ['"a"'] } } });
  assert.deepEqual([inCall.calls, inCall.finish?.reason], [["f {"], "tool_calls"]);
});

test("omits an unwanted thought but counts its tokens", async () => {
  const said = "<think>\nHm\n</think>\n\nYes";
  const shown = await answer(said);
  const hidden = await answer(said, { changes: { output: { includeReasoning: false } } });
  assert.deepEqual([shown.reasoning, hidden.reasoning, hidden.text], ["Hm", "", "Yes"]);
  assert.equal(hidden.tokenCount, shown.tokenCount);
});
