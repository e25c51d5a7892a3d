// Tests that the call format of a chat template is detected, and that each format reads the calls that it writes.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import * as fc from "fast-check";
import { plainConversation } from "../../../base/domain/chat.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { createChatTemplate, type ChatTemplate } from "../../chat-templates/chat-template.ts";
import { loadChatTemplate } from "../../chat-templates/load-chat-template.ts";
import { readReply } from "../testing/read-reply.ts";
import { callFormats, detectCallFormat } from "./call-formats.ts";
import { searching } from "../../../base/domain/testing/search.ts";

const specialTokens = { bos_token: "<s>", eos_token: "</s>" };

function fixtureTemplate(name: string): ChatTemplate {
  const source = readFileSync(`test/fixtures/chat-templates/${name}.jinja`, "utf8");
  return createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
}

const templates = {
  hermes: await loadChatTemplate("test/fixtures/tool-model"),
  llama3: fixtureTemplate("llama3"),
  mistral: fixtureTemplate("mistral"),
  "mistral-named": fixtureTemplate("mistral-named"),
};

for (const [name, template] of Object.entries(templates)) {
  const format = callFormats[name as keyof typeof templates];

  test(`detects the format of a template that writes ${name}`, () => {
    assert.equal(detectCallFormat(template), format);
  });

  test(`${name}: reads a template's calls back as the same calls`, () => {
    const argumentsOf = fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 });
    const call = fc.record({ name: fc.constantFrom("f", "get_weather", "a-b.c"), arguments: argumentsOf });
    const countMax = name === "llama3" ? 1 : 3;
    fc.assert(
      fc.property(fc.array(call, { minLength: 1, maxLength: countMax }), (calls) => {
        // Converts the calls to plain JSON values, as in a client's message.
        const sent = JSON.parse(JSON.stringify(calls)) as typeof calls;
        const { text, toolCalls } = readReply(format, [writtenTurn(template, sent)], {
          names: ["f", "get_weather", "a-b.c"],
        });
        assert.deepEqual(
          toolCalls.map((one) => ({ name: one.name, arguments: JSON.parse(one.argumentsText) as unknown })),
          sent,
        );
        assert.match(text, /^(<\|im_end\|>|<\|eot_id\|>|<\/s>)$/);
      }),
      searching(60),
    );
  });
}

/**
 * For each format, a part of a template that writes a call in this format. The parts come from templates of other model
 * families.
 */
const writers: Readonly<Partial<Record<keyof typeof callFormats, string>>> = {
  glm: "<tool_call>{{ f.name }}\n{% for k, v in f.arguments | items %}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v if v is string else v | tojson }}</arg_value>\n{% endfor %}</tool_call>",
  minimax:
    '<minimax:tool_call>\n<invoke name="{{ f.name }}">\n{% for k, v in f.arguments | items %}<parameter name="{{ k }}">{{ v }}</parameter>\n{% endfor %}</invoke>\n</minimax:tool_call>',
  "kimi-k2":
    "<|tool_calls_section_begin|><|tool_call_begin|>{{ c.id }}<|tool_call_argument_begin|>{{ f.arguments | tojson }}<|tool_call_end|><|tool_calls_section_end|>",
  gemma:
    "<start_function_call>call:{{ f.name }}{{ '{' }}{% for k, v in f.arguments | items %}{{ k }}:<escape>{{ v }}<escape>{% endfor %}{{ '}' }}<end_function_call>",
  granite: '<|tool_call|>[{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}]',
  harmony:
    " to=functions.{{ f.name }}<|channel|>commentary json<|message|>{{ f.arguments | tojson }}<|call|>",
  functionary: "<function={{ f.name }}>{{ f.arguments | tojson }}</function>",
  nemotron: '<TOOLCALL>[{"name": "{{ f.name }}", "arguments": {{ f.arguments | tojson }}}]</TOOLCALL>',
  deepseek:
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>{{ f.name }}\n```json\n{{ f.arguments | tojson }}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
};

test("detects formats of other model families, and no format in a template that writes no calls", async () => {
  assert.equal(detectCallFormat(fixtureTemplate("qwen3-coder")), callFormats["qwen-coder"]);
  for (const [name, writer] of Object.entries(writers)) {
    const source = `{% for m in messages %}{% for c in m.tool_calls or [] %}{% set f = c.function %}${writer}{% else %}{{ m.content }}{% endfor %}{% endfor %}`;
    const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
    assert.equal(detectCallFormat(template)?.name, name);
  }
  assert.equal(detectCallFormat(fixtureTemplate("qwen3.5")), callFormats["qwen-coder"]);
  const lfm = readFileSync("test/fixtures/chat-renderings/templates/LFM2.5-8B-A1B.jinja", "utf8");
  const silent = "{% for m in messages %}{{ m.content }}{% endfor %}{{ '<|tool_list_start|>' if tools }}";
  for (const source of [lfm, silent]) {
    const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock: systemClock });
    assert.equal(detectCallFormat(template), callFormats.pythonic);
  }
  assert.equal(detectCallFormat(fixtureTemplate("deepseek-r1")), null);
  const folder = "test/fixtures/goldens/models/qwen3";
  assert.equal(detectCallFormat(await loadChatTemplate(folder)), null);
});

test("documents a call of each format in docs/guides/tools.md", () => {
  const page = readFileSync("docs/guides/tools.md", "utf8");
  for (const [name, format] of Object.entries(callFormats)) {
    const written = format.written("weather", { city: "Rome" });
    // The table in the documentation shows a line break as a blank, and escapes a vertical bar.
    const shown = written.replaceAll("\n", " ").replaceAll("|", "\\|");
    const marked = shown.includes("`") ? "`` " + shown + " ``" : "`" + shown + "`";
    assert.ok(page.includes(`| \`${name}\` | `), name);
    assert.ok(page.includes(marked), `${name}: ${marked}`);
    const { toolCalls } = readReply(format, [written], { names: ["weather"] });
    const calls = toolCalls.map((call) => [call.name, call.argumentsText]);
    assert.deepEqual(calls, [["weather", '{"city": "Rome"}']], name);
  }
});

/** Returns the text that the template renders for an answer with these calls. */
function writtenTurn(template: ChatTemplate, calls: readonly { name: string; arguments: object }[]): string {
  const user = { role: "user", content: "Hi" };
  const toolCalls = calls.map((call) => {
    const written = { ...call, arguments: JSON.stringify(call.arguments) };
    return { id: "abcdef123", type: "function", function: written };
  });
  const tools = [{ type: "function", function: { name: "f" } }];
  const answer: MessageRecord = {
    role: "assistant",
    content: null,
    tool_calls: toolCalls,
  };
  const render = (messages: readonly MessageRecord[]): string =>
    template.render({ ...plainConversation, messages, tools, addGenerationPrompt: false });
  const turn = render([user, answer]).slice(render([user]).length);
  return turn.replace(
    /^<\|im_start\|>assistant\n|^<\|start_header_id\|>assistant<\|end_header_id\|>\n\n/,
    "",
  );
}
