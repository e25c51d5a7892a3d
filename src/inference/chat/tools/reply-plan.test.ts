// Tests the plan for parsing an answer: whether a thought is open at its start, and how calls are read.
import assert from "node:assert/strict";
import { test } from "node:test";
import { constraintFeatures, type ConstraintFeature } from "../../../base/domain/generation.ts";
import { loadTokenizer } from "../../../lib/tokenizer/tokenizer.ts";
import type { ThoughtStart } from "../reply/read-thought.ts";
import { plainReplies } from "../testing/plain-replies.ts";
import { chatRequest, type RequestChanges } from "../testing/chat-request.ts";
import type { CallFormat } from "./call-format.ts";
import { callFormats } from "./call-formats.ts";
import { planReply, type ReplyPlan } from "./reply-plan.ts";

const tokenizer = await loadTokenizer("test/fixtures/tool-model");
const engine = { capabilities: { features: new Set(constraintFeatures), isExact: true } };
const replies = { ...plainReplies, thinks: true, callFormat: callFormats.hermes };

function planOf(changes: RequestChanges, prompt = "<|im_start|>assistant\n", thinks = true): ReplyPlan {
  const tokenIds = tokenizer.encode(`${"before ".repeat(40)}${prompt}`, { addSpecialTokens: false });
  return planReply(chatRequest(changes), { replies: { ...replies, thinks }, tokenizer, engine }, tokenIds);
}

test("detects from the prompt whether a thought is open, possible, or over", () => {
  const says = (expected: ThoughtStart, prompt: string, changes: RequestChanges = {}, thinks = true): void =>
    assert.equal(planOf(changes, prompt, thinks).form.thought, expected, prompt);
  const opening = "<|im_start|>assistant\n";
  says("possible", opening);
  says("none", opening, {}, false);
  says("open", `${opening}<think>`);
  says("open", `${opening}<think>\n\n`);
  says("none", `${opening}<think>\n\n</think>\n\n`);
  says("possible", `<think>\n${opening}`);
  says("none", "so far", { prompt: { addGenerationPrompt: false } });
  const continued = (content: string): RequestChanges => ({
    prompt: {
      messages: [{ role: "assistant", content }],
      continueFinalMessage: true,
      addGenerationPrompt: false,
    },
  });
  says("open", "<think>Hm, so", continued("<think>Hm, so"));
  says("none", "<think>Hm</think>Yes", continued("<think>Hm</think>Yes"));
  says("none", "Yes", continued("Yes"));
  says("possible", opening, continued(" "));
});

test("reads calls if tools may be called, and at most one call of a named function", () => {
  const tools = [{ type: "function", function: { name: "f" } }];
  const callsOf = (calls: RequestChanges["calls"]): ReplyPlan["form"]["calls"] =>
    planOf({ prompt: { tools }, ...(calls === undefined ? {} : { calls }) }).form.calls;
  assert.deepEqual(callsOf(undefined), {
    format: callFormats.hermes,
    functions: new Map([["f", null]]),
    areParallel: true,
    isConstrained: false,
    texts: new Set(),
  });
  assert.equal(callsOf({ areParallel: false })?.areParallel, false);
  assert.equal(callsOf({ choice: { kind: "none" } }), null);
  assert.equal(callsOf({ choice: { kind: "named", name: "f" } })?.areParallel, false);
  assert.equal(planOf({}).form.calls, null);
});

test("constrains an answer that may call tools if the model knows the format only from its prompt", () => {
  const tools = [{ type: "function", function: { name: "f" } }];
  const heldBy = (callFormat: CallFormat, served = engine): boolean => {
    const base = { replies: { ...plainReplies, callFormat }, tokenizer, engine: served };
    const plan = planReply(chatRequest({ prompt: { tools } }), base, []);
    assert.equal(plan.form.calls?.isConstrained, plan.constraint !== null);
    return plan.constraint !== null;
  };
  assert.deepEqual([heldBy(callFormats.hermes), heldBy(callFormats.generic)], [false, true]);
  const unable = { capabilities: { features: new Set<ConstraintFeature>(), isExact: true } };
  assert.equal(
    heldBy(callFormats.generic, unable),
    false,
    "an engine that holds nothing is asked for nothing",
  );
});

test("plans a text answer for a prompt that is not a conversation", () => {
  const request = {
    ...chatRequest(),
    prompt: {
      kind: "text",
      text: "<think>",
      addSpecialTokens: false,
      truncation: null,
      echo: false,
    } as const,
  };
  const ids = tokenizer.encode("<think>", { addSpecialTokens: false });
  const { thought, calls } = planReply(request, { replies, tokenizer, engine }, ids).form;
  assert.deepEqual([thought, calls], ["none", null]);
});
