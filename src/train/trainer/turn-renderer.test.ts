// Tests which tokens of a conversation are trained, and the prompt before them, with real templates and a real
// tokenizer.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import type { JsonObject } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { createChatTemplate } from "../../inference/chat-templates/chat-template.ts";
import { loadChatTemplate } from "../../inference/chat-templates/load-chat-template.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { exampleSequences, type TurnRenderer } from "../trajectories/example-sequences.ts";
import { createTurnRenderer } from "./conversation-tokenizer.ts";

const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
const endTokenIds = [tokenizer.endOfTextId ?? assert.fail("the tokenizer has an end of text")];
const vocabularySize = tokenizer.vocabularySize;

function rendererOf(shape: string): TurnRenderer {
  const source = readFileSync(`test/fixtures/template-shapes/${shape}.jinja`, "utf8");
  const specialTokens = { bos_token: "<s>", eos_token: "<|im_end|>" };
  const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
  return createTurnRenderer({ tokenizer, template, vocabularySize, endTokenIds });
}

interface Given {
  readonly messages: readonly MessageRecord[];
  readonly tools?: readonly JsonObject[];
  readonly extra?: JsonObject;
}

/**
 * Returns the text of each sequence with its trained part between ⟦ and ⟧, or the reason why no part can be trained.
 */
function shown(renderer: TurnRenderer, { messages, tools, extra = {} }: Given): readonly string[] | string {
  const read = exampleSequences({ messages, tools: tools ?? null, extra }, renderer);
  if ("reason" in read) return `${read.reason}: ${read.detail}`;
  return read.sequences.map(({ tokenIds, mask }) => {
    const texts: string[] = [];
    for (let start = 0; start < tokenIds.length;) {
      const next = mask.findIndex((trains, index) => index > start && trains !== mask[start]);
      const end = next < 0 ? mask.length : next;
      const text = tokenizer.decode(Array.from(tokenIds.slice(start, end)), { skipSpecialTokens: false });
      texts.push(mask[start] === 1 ? `⟦${text}⟧` : text);
      start = end;
    }
    return texts.join("");
  });
}

const user = (content: string): MessageRecord => ({ role: "user", content });
const assistant = (content: string, more: JsonObject = {}): MessageRecord => ({
  role: "assistant",
  content,
  ...more,
});

test("each turn trains to its end in one sequence, and the text after it belongs to the next prompt", () => {
  const messages = [user("Hi"), assistant("Ho"), user("And?"), assistant("No.")];
  assert.deepEqual(shown(rendererOf("chatml"), { messages }), [
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n⟦Ho<|im_end|>⟧\n" +
      "<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n⟦No.<|im_end|>⟧",
  ]);
});

test("a later system message trains as it is served if the template refuses one there", () => {
  const source = readFileSync("test/fixtures/chat-templates/qwen3.5.jinja", "utf8").replace(
    "'<think>\\n' }}",
    "'' }}",
  );
  const template = createChatTemplate({ source, toolUseSource: null, specialTokens: {}, clock: systemClock });
  const renderer = createTurnRenderer({ tokenizer, template, vocabularySize, endTokenIds });
  const system = (content: string): MessageRecord => ({ role: "system", content });
  const messages = [system("A"), user("Hi"), system("B"), assistant("Ho")];
  assert.deepEqual(shown(renderer, { messages }), [
    "<|im_start|>system\nA\n\nB<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n⟦Ho<|im_end|>⟧",
  ]);
});

test("an answer of weight 0 is context, and the template does not see its weight", () => {
  const messages = [
    user("Hi"),
    assistant("Ho", { weight: 0 }),
    user("And?"),
    assistant("No.", { weight: 1 }),
  ];
  assert.deepEqual(shown(rendererOf("chatml"), { messages }), [
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n" +
      "<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n⟦No.<|im_end|>⟧",
  ]);
});

test("a template that drops earlier thoughts gives a sequence per turn, with its thought", () => {
  const messages = [
    user("Hi"),
    assistant("Ho", { reasoning_content: "Greet." }),
    user("And?"),
    assistant("No.", { reasoning_content: "Refuse." }),
  ];
  assert.deepEqual(shown(rendererOf("qwen3"), { messages }), [
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n⟦<think>\nGreet.\n</think>\n\nHo<|im_end|>⟧",
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHo<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n" +
      "<|im_start|>assistant\n⟦<think>\nRefuse.\n</think>\n\nNo.<|im_end|>⟧",
  ]);
});

test("template arguments count: without thinking, the empty thought belongs to the prompt", () => {
  const extra = { chat_template_kwargs: { enable_thinking: false } };
  assert.deepEqual(shown(rendererOf("qwen3"), { messages: [user("Hi"), assistant("Ho")], extra }), [
    "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n⟦Ho<|im_end|>⟧",
  ]);
});

test("tools are part of the prompt, and calls train as the template writes them", async () => {
  const folder = "models/hone-tiny";
  const small = await loadTokenizer(folder);
  const template = await loadChatTemplate(folder);
  const options = { tokenizer: small, template, vocabularySize: small.vocabularySize, endTokenIds: [2] };
  const renderer = createTurnRenderer(options);
  const call = { type: "function", function: { name: "add", arguments: '{"a": 1}' } };
  const tools = [{ type: "function", function: { name: "add", parameters: {} } }];
  const messages = [user("1 + 1?"), { role: "assistant", content: null, tool_calls: [call] }];
  const { promptTokenIds, answerTokenIds } = renderer.renderTurn(messages, tools, {});
  const decode = (ids: readonly number[]): string => small.decode(ids, { skipSpecialTokens: false });
  assert.match(decode(promptTokenIds), /add/);
  assert.ok(decode(promptTokenIds).endsWith("<|im_start|>assistant\n"));
  const text = decode(answerTokenIds);
  assert.match(text, /^\n?<tool_call>\n.*"add".*\n<\/tool_call><\|im_end\|>$/);
  assert.deepEqual(JSON.parse(text.slice(text.indexOf("{"), text.lastIndexOf("}") + 1)), {
    name: "add",
    arguments: { a: 1 },
  });
});

test("templates of many makers write the answer after the prompt that a request gets", () => {
  const messages = [user("Hi"), assistant("Ho"), user("And?"), assistant("No.")];
  for (const shape of ["chatml", "gemma", "llama3", "mistral", "qwen3", "zephyr"]) {
    const read = shown(rendererOf(shape), { messages });
    assert.ok(Array.isArray(read), `${shape}: ${String(read)}`);
    const trained = read.join("").match(/⟦[^⟧]*⟧/gu) ?? [];
    assert.equal(trained.length, 2, shape);
    ["Ho", "No."].forEach((text, index) =>
      assert.ok(trained[index].includes(text), `${shape}: ${trained[index]}`),
    );
    assert.ok(
      trained.every((text) => !/Hi|And/.test(text)),
      shape,
    );
  }
});

test("an answer that the template writes after another prompt does not train", () => {
  const source =
    "{%- for m in messages %}{{ m.role }}: {{ m.content }}<|im_end|>{%- endfor %}" +
    "{%- if add_generation_prompt %}assistant: <think>{%- endif %}";
  const template = createChatTemplate({ source, toolUseSource: null, specialTokens: {}, clock: systemClock });
  const renderer = createTurnRenderer({ tokenizer, template, vocabularySize, endTokenIds });
  const read = shown(renderer, { messages: [user("Hi"), assistant("Ho")] });
  assert.match(
    String(read),
    /^unrenderable: .*Message 1: The chat template writes this answer after another prompt/,
  );
});

test("a conversation that the template refuses, or that needs another template, does not train", () => {
  const raises = [user("a"), user("b"), assistant("c")];
  assert.match(String(shown(rendererOf("mistral"), { messages: raises })), /^unrenderable: .*Message 2: /);
  const messages = [user("Hi"), assistant("Ho")];
  const extra = { chat_template: "{{ messages }}" };
  assert.match(String(shown(rendererOf("chatml"), { messages, extra })), /^unrenderable: .*chat_template/);
});
