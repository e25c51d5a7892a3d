// Tests chat templates like those of models in use. The expected texts follow the makers' own descriptions of their
// formats, character by character.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import { systemClock } from "../../base/domain/clock.ts";
import { createChatTemplate } from "./chat-template.ts";

interface Shape {
  readonly bos: string;
  readonly eos: string;
  /** Expected text for {@link messages}, with the generation prompt. */
  readonly rendered: string;
  /** Text that the template writes before an answer, if it differs from the generation prompt. */
  readonly beforeAnswer?: string;
  readonly trims?: true;
}

const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: "Hi" },
  { role: "assistant", content: "Hello." },
  { role: "user", content: "Bye" },
];

const shapes: Readonly<Record<string, Shape>> = {
  chatml: {
    bos: "",
    eos: "<|im_end|>",
    rendered:
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n" +
      "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
  },
  llama3: {
    bos: "<|begin_of_text|>",
    eos: "<|eot_id|>",
    rendered:
      "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nBe brief.<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\nHello.<|eot_id|>" +
      "<|start_header_id|>user<|end_header_id|>\n\nBye<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n",
    trims: true,
  },
  mistral: {
    bos: "<s>",
    eos: "</s>",
    rendered: "<s> [INST] Be brief.\n\nHi [/INST] Hello.</s> [INST] Bye [/INST]",
    beforeAnswer: " ",
  },
  gemma: {
    bos: "<bos>",
    eos: "<eos>",
    rendered:
      "<bos><start_of_turn>user\nBe brief.\n\nHi<end_of_turn>\n<start_of_turn>model\nHello.<end_of_turn>\n" +
      "<start_of_turn>user\nBye<end_of_turn>\n<start_of_turn>model\n",
    trims: true,
  },
  zephyr: {
    bos: "<s>",
    eos: "</s>",
    rendered:
      "<|system|>\nBe brief.</s>\n<|user|>\nHi</s>\n<|assistant|>\nHello.</s>\n<|user|>\nBye</s>\n<|assistant|>\n",
  },
  deepseek: {
    bos: "<｜begin▁of▁sentence｜>",
    eos: "<｜end▁of▁sentence｜>",
    rendered:
      "<｜begin▁of▁sentence｜>Be brief.<｜User｜>Hi<｜Assistant｜>Hello.<｜end▁of▁sentence｜><｜User｜>Bye<｜Assistant｜>",
  },
  qwen3: {
    bos: "",
    eos: "<|im_end|>",
    rendered:
      "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n" +
      "<|im_start|>assistant\nHello.<|im_end|>\n<|im_start|>user\nBye<|im_end|>\n<|im_start|>assistant\n",
    beforeAnswer: "<think>\n\n</think>\n\n",
  },
};

function render(name: string, conversation: Partial<Conversation>): string {
  const { bos, eos } = shapes[name];
  const source = readFileSync(`test/fixtures/template-shapes/${name}.jinja`, "utf8");
  const specialTokens = { bos_token: bos, eos_token: eos };
  const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
  return template.render({ messages, ...plainConversation, ...conversation });
}

for (const [name, { rendered, beforeAnswer = "", trims }] of Object.entries(shapes)) {
  test(`renders ${name} as its makers describe it`, () => {
    assert.equal(render(name, {}), rendered);
    const parts = messages.map(({ role, content }) => ({ role, content: [{ type: "text", text: content }] }));
    assert.equal(render(name, { messages: parts }), rendered, "parts of content are its text");
  });

  test(`${name}: ends the prompt with a final message that is to be continued`, () => {
    const opened = rendered + beforeAnswer;
    const continued = (content: string): string => {
      const all = [...messages, { role: "assistant", content }];
      return render(name, { messages: all, addGenerationPrompt: false, continueFinalMessage: true });
    };
    assert.equal(continued("The answer"), `${opened}The answer`);
    assert.equal(continued("The answer is "), `${opened}The answer is${trims === true ? "" : " "}`);
    assert.equal(continued("two\n\nlines"), `${opened}two\n\nlines`);
    assert.equal(continued("Hello."), `${opened}Hello.`, "also where an earlier message has the same text");
    assert.equal(continued("assistant</s><|im_end|>"), `${opened}assistant</s><|im_end|>`);
    const asUser = render(name, { addGenerationPrompt: false, continueFinalMessage: true });
    assert.ok(asUser.endsWith("Bye") && rendered.startsWith(asUser), "a message of any role");
  });
}

test("shows a thinking model's thought in the turn that continues, and drops earlier ones", () => {
  const thought = { role: "assistant", content: "<think>\nhm\n</think>\n\nSo" };
  const next = { role: "user", content: "And?" };
  const [, user] = messages;
  const opened = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";
  const goesOn = { addGenerationPrompt: false, continueFinalMessage: true };
  assert.equal(
    render("qwen3", { messages: [user, thought], ...goesOn }),
    `${opened}<think>\nhm\n</think>\n\nSo`,
  );
  assert.equal(
    render("qwen3", { messages: [user, thought, next], reasoningEffort: "none" }),
    `${opened}So<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n`,
  );
  assert.throws(() => render("deepseek", { messages: [user, thought], ...goesOn }), {
    message: /cannot be continued: the chat template alters it/,
  });
});

test("reports a template's own refusal of roles", () => {
  const [, user] = messages;
  assert.throws(() => render("mistral", { messages: [user, user] }), {
    code: "unsupported",
    message:
      /^The chat template refuses these messages: "After the optional system message, conversation roles must alternate/,
  });
  assert.throws(() => render("mistral", { messages: [user, { role: "pirate", content: "Arr" }] }), {
    message: /^The chat template refuses these messages: "Only user and assistant roles are supported/,
  });
});
