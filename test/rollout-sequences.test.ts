// Tests the training sequences of rollouts with templates of different layouts. The expected trained tokens and their
// contexts are written by hand. Each rollout is converted twice: as the server returned it, and without ids as a client
// library stores it, so that every prompt is rendered again.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { systemClock } from "../src/base/domain/clock.ts";
import type { JsonObject } from "../src/base/domain/text/json.ts";
import type { History, HistoryItem, Trajectory } from "../src/base/domain/trajectory.ts";
import { type ChatTemplate, createChatTemplate } from "../src/inference/chat-templates/chat-template.ts";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";
import { createConversationTokenizer } from "../src/train/trainer/conversation-tokenizer.ts";
import {
  type ConversationTokenizer,
  promptArgumentsOf,
} from "../src/train/trajectories/conversation-tokenizer.ts";
import { emptyTrajectory } from "../src/train/trajectories/log-summary.ts";
import { trajectorySequences } from "../src/train/trajectories/sequences.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const templates = {
  thinking: "test/fixtures/tool-model/chat_template.jinja",
  deepseek: "test/fixtures/chat-templates/deepseek-r1.jinja",
  coder: "test/fixtures/chat-templates/qwen3-coder.jinja",
  llama: "test/fixtures/chat-templates/llama3.jinja",
} as const;

function conversationOf(name: keyof typeof templates): ConversationTokenizer {
  const source = readFileSync(templates[name], "utf8");
  const specialTokens = { bos_token: "" };
  const template: ChatTemplate = createChatTemplate({
    source,
    toolUseSource: null,
    specialTokens,
    clock: systemClock,
  });
  return createConversationTokenizer(tokenizer, template, 512);
}

/** An answer of the model: the text it sampled, and the message that the server parsed from it. */
interface Answer {
  readonly sampled: string;
  readonly message: JsonObject;
  /** Fields of the request that affect its prompt. */
  readonly asked?: JsonObject;
  /** Token ids; undefined if they are the usual tokens of the text. */
  readonly tokenIds?: readonly number[];
}

type Item = JsonObject | { readonly answer: Answer };

interface Rollout {
  readonly items: readonly Item[];
  /** Functions that are listed separately from `tools`, as some clients record them. */
  readonly functions?: readonly JsonObject[];
}

const isAnswer = (item: Item): item is { readonly answer: Answer } => "answer" in item;
const user = (content: JsonObject["content"]): JsonObject => ({ role: "user", content });
const said = (sampled: string, content: string, more: Partial<Answer> = {}): Item => ({
  answer: { sampled, message: { role: "assistant", content }, ...more },
});

/**
 * Returns the rollout as a client records it. Each prompt is rendered as in serving, from the messages before the
 * answer.
 */
function recorded(
  { items, functions = [] }: Rollout,
  conversation: ConversationTokenizer,
  kept: "all" | "log-probabilities",
): History {
  const messages: JsonObject[] = [];
  const tools = functions.map((each) => ({ type: "function", function: each }));
  const history = items.map((item) => {
    if (!isAnswer(item)) {
      messages.push(item);
      return item;
    }
    const { sampled, message, asked = {}, tokenIds = conversation.encode(sampled) } = item.answer;
    const promptArguments = promptArgumentsOf(asked);
    const prompt = conversation.renderPrompt(messages, tools.length === 0 ? null : tools, promptArguments);
    messages.push(message);
    const content = tokenIds.map((id) => ({
      token: `token_id:${id}`,
      logprob: -1,
      bytes: [],
      top_logprobs: [],
    }));
    const ids = kept === "all" ? { token_ids: tokenIds, prompt_token_ids: prompt } : {};
    return { finish_reason: "stop", index: 0, message, logprobs: { content }, ...asked, ...ids };
  });
  return { messagesAndChoices: history as unknown as readonly HistoryItem[], tools: functions };
}

function trajectoryOf([main, ...additionalHistories]: readonly History[]): Trajectory {
  return { ...emptyTrajectory, ...main, additionalHistories };
}

/**
 * Returns every training sequence as text with its trained parts in ⟦⟧, and the reasons why other parts were skipped.
 */
function read(
  histories: readonly History[],
  conversation: ConversationTokenizer,
  options: Parameters<typeof trajectorySequences>[2] = {},
): { readonly sequences: readonly string[]; readonly untrained: readonly string[] } {
  const { sequences, untrained } = trajectorySequences(trajectoryOf(histories), conversation, options);
  const shown = sequences.map(({ sequence: { tokenIds, mask } }) => {
    let text = "";
    let start = 0;
    for (let end = 1; end <= tokenIds.length; end++) {
      if (end < tokenIds.length && mask[end] === mask[start]) continue;
      const part = tokenizer.decode(Array.from(tokenIds.subarray(start, end)), { skipSpecialTokens: false });
      text += mask[start] === 1 ? `⟦${part}⟧` : part;
      start = end;
    }
    return text;
  });
  return { sequences: shown, untrained: untrained.map(({ reason }) => reason) };
}

function check(
  template: keyof typeof templates,
  rollouts: readonly Rollout[],
  expected: readonly string[],
  untrained: readonly string[] = [],
): void {
  const conversation = conversationOf(template);
  for (const kept of ["all", "log-probabilities"] as const) {
    const histories = rollouts.map((rollout) => recorded(rollout, conversation, kept));
    assert.deepEqual(read(histories, conversation), { sequences: expected, untrained }, kept);
  }
}

const weather: JsonObject = { name: "weather", parameters: {} };
const callOf = (args: string): JsonObject => ({
  id: "c1",
  type: "function",
  function: { name: "weather", arguments: args },
});
const result: JsonObject = { role: "tool", tool_call_id: "c1", content: "sun" };
const thinks: JsonObject = { chat_template_kwargs: { enable_thinking: true } };

test("a growing context stays one sequence, and each sampled end of a turn is trained on once", () => {
  check(
    "coder",
    [{ items: [user("a"), said("hi<|im_end|>", "hi"), user("b"), said("ok<|im_end|>", "ok")] }],
    [
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n⟦hi<|im_end|>⟧\n" +
        "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n⟦ok<|im_end|>⟧",
    ],
  );
});

test("after a truncated answer, the end of the turn from the template is context", () => {
  check(
    "coder",
    [{ items: [user("a"), said("hi", "hi"), user("b"), said("ok<|im_end|>", "ok")] }],
    [
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n⟦hi⟧<|im_end|>\n" +
        "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n⟦ok<|im_end|>⟧",
    ],
  );
});

test("calls of earlier turns stay in the context, with their arguments as the object that the template iterates over", () => {
  const call =
    "<tool_call>\n<function=weather>\n<parameter=city>\nRome\n</parameter>\n</function>\n</tool_call>";
  const message = { role: "assistant", content: "", tool_calls: [callOf('{"city": "Rome"}')] };
  check(
    "coder",
    [
      {
        items: [
          user("a"),
          { answer: { sampled: `\n${call}<|im_end|>`, message } },
          result,
          said("Sun.<|im_end|>", "Sun."),
        ],
      },
    ],
    [
      `<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n⟦\n${call}<|im_end|>⟧\n` +
        "<|im_start|>tool\nsun<|im_end|>\n<|im_start|>assistant\n⟦Sun.<|im_end|>⟧",
    ],
  );
});

test("thoughts that the template keeps, calls and results form one sequence, with the requested tools and thinking", () => {
  const call = '<tool_call>\n{"name": "weather", "arguments": {"city": "Rome"}}\n</tool_call>';
  const message = {
    role: "assistant",
    content: "",
    reasoning_content: "hm",
    tool_calls: [callOf('{"city": "Rome"}')],
  };
  check(
    "thinking",
    [
      {
        functions: [weather],
        items: [
          user("a"),
          { answer: { sampled: `hm\n</think>\n\n${call}<|im_end|>`, message, asked: thinks } },
          result,
          said("Sun.<|im_end|>", "Sun."),
        ],
      },
    ],
    [
      '<|im_start|>system\nTools:\n{"name": "weather", "parameters": {}}\nCall one so:\n<tool_call>\n' +
        '{"name": <name>, "arguments": <object>}\n</tool_call><|im_end|>\n' +
        "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n" +
        `⟦hm\n</think>\n\n${call}<|im_end|>⟧\n` +
        "<|im_start|>user\n<tool_response>\nsun\n</tool_response><|im_end|>\n" +
        "<|im_start|>assistant\n<think>\n\n</think>\n\n⟦Sun.<|im_end|>⟧",
    ],
  );
});

test("if a template drops earlier thoughts, every turn after one becomes a new sequence", () => {
  const message = { role: "assistant", content: "Yes", reasoning_content: "hm" };
  check(
    "deepseek",
    [
      {
        items: [
          user("a"),
          { answer: { sampled: "hm</think>Yes<｜end▁of▁sentence｜>", message } },
          user("b"),
          said("</think>No<｜end▁of▁sentence｜>", "No"),
        ],
      },
    ],
    [
      "<｜User｜>a<｜Assistant｜><think>\n⟦hm</think>Yes<｜end▁of▁sentence｜>⟧",
      "<｜User｜>a<｜Assistant｜>Yes<｜end▁of▁sentence｜><｜User｜>b<｜Assistant｜><think>\n" +
        "⟦</think>No<｜end▁of▁sentence｜>⟧",
    ],
  );
});

test("thinking is opened as in the request, or as in serving if the request does not say", () => {
  const items = (asked: JsonObject): readonly Item[] => [user("a"), said("b<|im_end|>", "b", { asked })];
  const prompt = "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n<think>\n";
  check("thinking", [{ items: items(thinks) }], [`${prompt}⟦b<|im_end|>⟧`]);
  check("thinking", [{ items: items({}) }], [`${prompt}\n</think>\n\n⟦b<|im_end|>⟧`]);
});

test("an answer whose tokens differ from those of its text ends the sequence, since later prompts contain the text's tokens", () => {
  const conversation = conversationOf("coder");
  const letters = "hello".split("").flatMap((letter) => conversation.encode(letter));
  assert.ok(letters.length > conversation.encode("hello").length, "the text has a shorter spelling");
  const tokenIds = [...letters, ...conversation.encode("<|im_end|>")];
  const sampled = "hello<|im_end|>";
  check(
    "coder",
    [{ items: [user("a"), said(sampled, "hello", { tokenIds }), user("b"), said("ok", "ok")] }],
    [
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\n⟦hello<|im_end|>⟧",
      "<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nhello<|im_end|>\n" +
        "<|im_start|>user\nb<|im_end|>\n<|im_start|>assistant\n⟦ok⟧",
    ],
  );
});

test("content in parts is rendered as its text", () => {
  const parts = ["a", "b"].map((text) => ({ type: "text", text }));
  check(
    "coder",
    [{ items: [user(parts), said("ok", "ok")] }],
    ["<|im_start|>user\na\nb<|im_end|>\n<|im_start|>assistant\n⟦ok⟧"],
  );
});

test("each history has its own tools, and only a history that the template refuses is skipped", () => {
  const prompt = (question: string): string =>
    `<|start_header_id|>user<|end_header_id|>\n\n${question}<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n`;
  const two = { role: "assistant", content: "", tool_calls: [callOf("{}"), callOf("{}")] };
  const conversation = conversationOf("llama");
  const rollouts: readonly Rollout[] = [
    { items: [user("a"), said("x", "x")] },
    { items: [user("b"), said("y", "y")], functions: [weather] },
  ];
  const histories = rollouts.map((rollout) => recorded(rollout, conversation, "log-probabilities"));
  const refused = {
    messagesAndChoices: [...histories[0].messagesAndChoices, two, ...histories[0].messagesAndChoices],
    tools: [],
  } as unknown as History;
  const system = "<|start_header_id|>system<|end_header_id|>\n\n";
  const shown = JSON.stringify({ type: "function", function: weather }, null, 4);
  assert.deepEqual(read([...histories, refused], conversation), {
    sequences: [
      `${system}<|eot_id|>${prompt("a")}⟦x⟧`,
      `${system}Environment: ipython\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\n` +
        'Answer with a call of one of these, as {"name": <name>, "parameters": <object>}.\n\n' +
        `${shown}\n\nb<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n⟦y⟧`,
    ],
    untrained: ["unrenderable"],
  });
});

test("assistant texts are trained on after the prompt that asks for them, each in its own sequence if later prompts differ", () => {
  const conversation = conversationOf("thinking");
  const items = [
    user("a"),
    { role: "assistant", content: "Hi" },
    user("b"),
    { role: "assistant", content: "Ok" },
  ];
  const history = { messagesAndChoices: items as unknown as readonly HistoryItem[], tools: null };
  const asks = "<|im_start|>assistant\n<think>\n\n</think>\n\n";
  const expected = {
    sequences: [
      `<|im_start|>user\na<|im_end|>\n${asks}⟦Hi⟧`,
      `<|im_start|>user\na<|im_end|>\n<|im_start|>assistant\nHi<|im_end|>\n<|im_start|>user\nb<|im_end|>\n${asks}⟦Ok⟧`,
    ],
    untrained: [],
  };
  assert.deepEqual(read([history], conversation), expected);
  assert.deepEqual(read([history], conversation, { trainsTexts: true }), expected);
});
