// Tests answers as the chat templates of published models write them, with thought, text and calls. The format must be
// detected, and reading must give back each part, whether the answer arrives whole or in pieces.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import { plainConversation } from "../../../base/domain/chat.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { searching } from "../../../base/domain/testing/search.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { createChatTemplate, type ChatTemplate } from "../../chat-templates/chat-template.ts";
import { callFormats } from "./call-formats.ts";
import { readReplyAbilities, type TemplateReplies } from "../reply-abilities.ts";
import { readReply, type ReadReply } from "../testing/read-reply.ts";

interface Published {
  readonly file: string;
  readonly format: string;
  /** Text that the template writes between the prompt and the content of an answer. */
  readonly opening: RegExp;
  /** Text that the template writes after the answer. */
  readonly closing: RegExp;
  /** False if an answer with calls has no other text in this template. */
  readonly hasText: boolean;
}

const renderings = "chat-renderings/templates";
const models: Readonly<Record<string, Published>> = {
  "Qwen3.5": {
    file: "chat-templates/qwen3.5",
    format: "qwen-coder",
    opening: /^<\|im_start\|>assistant\n/,
    closing: /<\|im_end\|>\n$/,
    hasText: true,
  },
  "Qwen3-Coder": {
    file: `${renderings}/Qwen3-Coder`,
    format: "qwen-coder",
    opening: /^<\|im_start\|>assistant\n/,
    closing: /<\|im_end\|>\n$/,
    hasText: true,
  },
  "LFM2.5": {
    file: `${renderings}/LFM2.5-8B-A1B`,
    format: "pythonic",
    opening: /^<\|im_start\|>assistant\n/,
    closing: /<\|im_end\|>\n$/,
    hasText: true,
  },
  "Gemma 4": {
    file: `${renderings}/google-gemma-4-31B-it`,
    format: "gemma4",
    opening: /^<\|turn>model\n/,
    closing: /(<\|tool_response>|<turn\|>\n)$/,
    hasText: false,
  },
  "Granite 4": {
    file: `${renderings}/ibm-granite-granite-4.0`,
    format: "hermes",
    opening: /^<\|start_of_role\|>assistant<\|end_of_role\|>/,
    closing: /<\|end_of_text\|>\n$/,
    hasText: true,
  },
  "Ministral 3": {
    file: `${renderings}/unsloth-mistral-Devstral-Small-2507`,
    format: "mistral-named",
    opening: /^/,
    closing: /<\/s>$/,
    hasText: false,
  },
};

const parameters = {
  type: "object",
  properties: {
    city: { type: "string", description: "City" },
    days: { type: "integer", description: "Days" },
    exact: { type: "boolean", description: "Exact" },
  },
} as const;
const tools = ["get_weather", "f"].map((name) => ({
  type: "function",
  function: { name, description: "A tool.", parameters },
}));
const functions = new Map(tools.map(({ function: { name } }) => [name, parameters]));

const word = fc.stringMatching(/^[A-Za-zé][A-Za-zé .,]{0,12}[a-z]$/);
const plain = { noNullPrototype: true };
const call = fc.record(
  {
    name: fc.constantFrom("get_weather", "f"),
    arguments: fc.record({ city: word, days: fc.integer(), exact: fc.boolean() }, plain),
  },
  plain,
);

for (const [model, { file, format, opening, closing, hasText }] of Object.entries(models))
  test(`${model}: reads the template's answers back, whole and in pieces`, () => {
    const template = templateOf(file);
    const { callFormat, thoughtMarks } = abilitiesOf(template);
    assert.equal(callFormat?.name, format);
    const answers = fc.record({
      text: hasText ? word : fc.constant(""),
      calls: fc.array(call, { minLength: 1, maxLength: 3 }),
      cuts: fc.array(fc.nat(400), { maxLength: 12 }),
    });
    fc.assert(
      fc.property(answers, ({ text, calls, cuts }) => {
        const written = turnOf(template, text, calls).replace(opening, "").replace(closing, "");
        const read = (texts: readonly string[]): ReadReply =>
          readReply(callFormat, texts, { functions, thought: "possible", thoughtMarks });
        const whole = read([written]);
        assert.equal(whole.text.trim(), text, written);
        const found = whole.toolCalls.map(({ name, argumentsText }) => ({
          name,
          arguments: JSON.parse(argumentsText) as unknown,
        }));
        assert.deepEqual(found, calls, written);
        const pieces = read(cutAt(written, cuts));
        const withoutIds = ({ text: said, reasoning, toolCalls }: ReadReply) => ({
          said,
          reasoning,
          calls: toolCalls.map(({ name, argumentsText }) => [name, argumentsText]),
        });
        assert.deepEqual(withoutIds(pieces), withoutIds(whole), written);
      }),
      searching(60),
    );
  });

test("Gemma 4: reads a thought between the model's own marks", () => {
  const template = templateOf(models["Gemma 4"].file);
  const { callFormat, thoughtMarks } = abilitiesOf(template);
  const written = "<|channel>thought\nRain is likely.\n<channel|>Take a coat.";
  for (const texts of [[written], written.split("")]) {
    const { reasoning, text } = readReply(callFormat, texts, { thought: "possible", thoughtMarks });
    assert.deepEqual([reasoning, text], ["Rain is likely.", "Take a coat."]);
  }
});

/**
 * Headers with which gpt-oss begins a call. They name the recipient in the channel or next to the role, and some have a
 * mark.
 */
const callHeaders = [
  (name: string) => `<|channel|>commentary to=functions.${name} <|constrain|>json<|message|>`,
  (name: string) => ` to=functions.${name}<|channel|>commentary <|constrain|>json<|message|>`,
  (name: string) => ` to=functions.${name}<|channel|>commentary json<|message|>`,
  (name: string) => `<|channel|>analysis to=functions.${name} code<|message|>`,
];

test("gpt-oss: reads the messages of an answer back, whole and in pieces", () => {
  const answers = fc.record({
    thoughts: fc.array(word, { maxLength: 2 }),
    preamble: fc.option(word),
    calls: fc.array(fc.tuple(call, fc.nat(callHeaders.length - 1)), { maxLength: 3 }),
    final: fc.option(word),
    cuts: fc.array(fc.nat(600), { maxLength: 12 }),
  });
  fc.assert(
    fc.property(answers, ({ thoughts, preamble, calls, final, cuts }) => {
      const written = [
        ...thoughts.map((text) => `<|channel|>analysis<|message|>${text}<|end|>`),
        ...(preamble === null ? [] : [`<|channel|>commentary<|message|>${preamble}<|end|>`]),
        ...calls.map(
          ([{ name, arguments: values }, header]) =>
            `${callHeaders[header](name)}${JSON.stringify(values)}<|call|>`,
        ),
        ...(final === null ? [] : [`<|channel|>final<|message|>${final}<|return|>`]),
      ].join("<|start|>assistant");
      const expected = {
        text: [preamble, final].filter((text) => text !== null).join("\n"),
        reasoning: thoughts.join("\n"),
        calls: calls.map(([one]) => one),
      };
      for (const texts of [[written], cutAt(written, cuts), written.split("")]) {
        const { text, reasoning, toolCalls } = readReply(callFormats.harmony, texts, { functions });
        const found = toolCalls.map(({ name, argumentsText }) => ({
          name,
          arguments: JSON.parse(argumentsText) as unknown,
        }));
        assert.deepEqual({ text, reasoning, calls: found }, expected, written);
      }
    }),
    searching(60),
  );
});

function abilitiesOf(template: ChatTemplate): TemplateReplies {
  return readReplyAbilities({ name: "m" }, template, { toolCalls: [], reasoning: [] });
}

function templateOf(file: string): ChatTemplate {
  const source = readFileSync(`test/fixtures/${file}.jinja`, "utf8");
  const specialTokens = { bos_token: "<s>", eos_token: "</s>" };
  return createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
}

/** Returns the text that the template writes for an answer with this text and these calls. */
function turnOf(
  template: ChatTemplate,
  content: string,
  calls: readonly { readonly name: string; readonly arguments: object }[],
): string {
  const user = { role: "user", content: "Hi" };
  const toolCalls = calls.map((one, index) => ({
    id: `abcdef12${index}`,
    type: "function",
    function: { name: one.name, arguments: JSON.stringify(one.arguments) },
  }));
  const answer: MessageRecord = { role: "assistant", content, tool_calls: toolCalls };
  const render = (messages: readonly MessageRecord[]): string =>
    template.render({ ...plainConversation, messages, tools, addGenerationPrompt: false });
  const [before, whole] = [render([user]), render([user, answer])];
  assert.ok(whole.startsWith(before));
  return whole.slice(before.length);
}

function cutAt(text: string, cuts: readonly number[]): readonly string[] {
  const places = [
    ...new Set([0, ...cuts.map((cut) => cut % Math.max(1, text.length)), text.length]),
  ].toSorted((one, other) => one - other);
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}
