// Tests chat templates: they must render as Hugging Face renders them.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { plainConversation, type Conversation } from "../../base/domain/chat.ts";
import type { Clock } from "../../base/domain/clock.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { Json } from "../../base/domain/text/json.ts";
import type { MessageRecord } from "../../base/domain/trajectory.ts";
import { createChatTemplate } from "./chat-template.ts";
import { loadChatTemplate } from "./load-chat-template.ts";
import { loadTokenizer } from "../../lib/tokenizer/tokenizer.ts";
import { renderPrompt } from "./render-prompt.ts";
import { strftime } from "../../lib/jinja/run/strftime.ts";

const clock: Clock = {
  now: () => new Date("2026-03-05T14:07:09Z"),
  monotonicMs: () => 0,
  sleep: () => Promise.resolve(),
};

const turns =
  "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";

function render(source: string, conversation: Partial<Conversation>): string {
  const template = createChatTemplate({
    source,
    toolUseSource: "tools: {{ tools | tojson }}",
    specialTokens: { bos_token: "<s>" },
    clock,
  });
  return template.render({
    messages: [],
    ...plainConversation,
    addGenerationPrompt: false,
    ...conversation,
  });
}

const user = (content: Conversation["messages"][number]["content"]): Conversation["messages"][number] => ({
  role: "user",
  content,
});

test("gives a template the standard variables, overridden by the request's", () => {
  const source =
    "{{ bos_token }}|{{ documents[0].title }}|{{ tools is none }}|{{ mode }}|{{ add_generation_prompt }}";
  const conversation = {
    documents: [{ title: "t" }],
    templateArguments: { mode: "m", add_generation_prompt: "own" },
  };
  assert.equal(render(source, conversation), "<s>|t|True|m|own");
  assert.equal(
    render("{{ messages | length }}", { messages: [user("a")], templateArguments: { messages: [] } }),
    "1",
    "not over the messages",
  );
});

test("trims blocks and writes JSON as Python does", () => {
  assert.equal(render("  {% if true %}\nx\n  {% endif %}\ny", {}), "x\ny");
  assert.equal(
    render("{{ documents[0] | tojson }}", { documents: [{ a: "ü<", b: [1, 2] }] }),
    '{"a": "ü<", "b": [1, 2]}',
  );
});

test("supports extensions that templates use: loop controls, generation blocks, and stripping of characters", () => {
  const loop =
    "{% for i in range(9) %}{% if i == 2 %}{% continue %}{% endif %}{% if i == 4 %}{% break %}{% endif %}{{ i }}{% endfor %}";
  assert.equal(render(loop, {}), "013");
  assert.equal(render("{% generation %}a{% endgeneration %}b", {}), "ab");
  assert.equal(render("[{{ ' \n\na \n'.strip('\n') }}]", {}), "[ \n\na ]");
  assert.equal(render("[{{ '\n a\n \n'.lstrip('\n').rstrip('\n') }}]", {}), "[ a\n ]");
  assert.equal(render("[{{ ' a '.strip() }}{{ '--a-b-'.strip('-').upper() }}]", {}), "[aA-B]");
  assert.throws(() => render("{{ missing.strip('a') }}", {}), { code: "unsupported" });
  assert.equal(render("[{{ missing | trim }}{{ missing | upper }}{{ missing | length }}]", {}), "[0]");
  assert.equal(render("[{{ missing | replace('a', 'b') | join(',') }}]", {}), "[]");
  assert.throws(() => render("{{ missing | int }}", {}), { message: /line 1: 'missing' is undefined/ });
  assert.throws(() => render("{{ missing | dictsort }}", {}), { code: "unsupported" });
});

test("refuses a template that is nested too deeply or truncated, with that reason", () => {
  const deep = 30_000;
  for (const source of [
    `{{ ${"(".repeat(deep)}1${")".repeat(deep)} }}`,
    `{{ 1${" + 1".repeat(deep)} }}`,
    "{% if true %}".repeat(deep),
  ])
    assert.throws(() => render(source, {}), { code: "unsupported", message: /it is nested too deeply/ });
  for (const source of ["{% if true %}", "{{ 1 +", "{{ [1,"])
    assert.throws(() => render(source, {}), {
      code: "unsupported",
      message: /line 1: .*end of (the )?template/,
    });
});

test("shows the reasoning effort, overridden by a template's own arguments", () => {
  const source = "{{ reasoning_effort }} {{ enable_thinking }}";
  assert.equal(render(source, {}), " ");
  assert.equal(render(source, { reasoningEffort: "low" }), "low True");
  assert.equal(render(source, { reasoningEffort: "none" }), "none False");
  assert.equal(
    render(source, { reasoningEffort: "none", templateArguments: { enable_thinking: true } }),
    "none True",
  );
});

test("renders another template with the model's variables, and requires one for a model without", () => {
  const options = { toolUseSource: null, specialTokens: { bos_token: "<s>" }, clock };
  const none = createChatTemplate({ source: null, ...options });
  assert.ok(!none.mentions(""));
  const conversation = { messages: [user("a")], ...plainConversation };
  assert.throws(() => none.render(conversation), {
    code: "unsupported",
    message: /no chat template of its own; send one as `prompt\.template`/,
  });
  const other = none.withSource("{{ bos_token }}{{ messages[0].content }}");
  assert.equal(other.render(conversation), "<s>a");
  assert.equal(other.render({ ...conversation, tools: [{}] }), "<s>a", "also with tools");
});

test("uses the tool template when tools are given", () => {
  assert.equal(render(turns, { tools: [{ type: "function" }] }), 'tools: [{"type": "function"}]');
});

test("reports the template's own message when it raises", () => {
  assert.throws(() => render("{{ raise_exception('Roles must alternate!') }}", {}), {
    code: "unsupported",
    message: 'The chat template refuses these messages: "Roles must alternate!"',
    faults: [
      {
        location: ["prompt", "messages"],
        message: 'The chat template refuses these messages: "Roles must alternate!"',
        type: "value_error",
      },
    ],
  });
  assert.throws(() => render("{{ 1 + none }}", {}), {
    code: "unsupported",
    message: /cannot render these messages: /,
  });
  assert.throws(() => render("{{ messages", {}), { code: "unsupported", message: /has an error: / });
});

test("shows today's date", () => {
  assert.equal(render("{{ strftime_now('%d %b %Y') }}", {}), "05 Mar 2026");
  assert.equal(
    strftime(clock.now(), "%A %-d %B %y, %I:%M:%S %p %j %%%q"),
    "Thursday 5 March 26, 02:07:09 PM 064 %%q",
  );
});

test("gives content as text or as parts, depending on the template", () => {
  const parts: readonly Json[] = [{ type: "text", text: "a" }, "b", { type: "refusal", refusal: "c" }];
  assert.equal(render("{{ messages[0].content }}", { messages: [user(parts)] }), "a\nb\nc");
  const looping = [
    "{% for m in messages %}{% for p in m.content %}[{{ p.type }} {{ p.text }}]{% endfor %}{% endfor %}",
    "{% for m in messages %}{% set content = m['content'] | list %}{% for p in content %}[{{ p.type }} {{ p.text }}]{% endfor %}{% endfor %}",
  ];
  for (const source of looping) {
    assert.equal(render(source, { messages: [user("a")] }), "[text a]");
    assert.equal(render(source, { messages: [user(null)] }), "");
  }
});

test("detects templates that read parts by the rules of vLLM 0.32, including macros and their errors", () => {
  const parts: readonly Json[] = [
    { type: "text", text: "a" },
    { type: "text", text: "b" },
  ];
  const loop = "{% if c is string %}{{ c }}{% else %}{% for p in c %}[{{ p.text }}]{% endfor %}{% endif %}";
  const macro = `{% macro show(c) %}${loop}{% endmacro %}`;
  for (const source of [
    `${macro}{% for m in messages %}{{ show(m.content) }}{% endfor %}`,
    `${macro}{% for m in messages[::-1] %}{{ show(c=m['content'] | list) }}{% endfor %}`,
    `${macro}{% set rest = messages[0:] %}{% set more = rest %}{% for m in more %}{{ show(m.content) }}{% endfor %}`,
    "{% for m in messages %}{% set content = m.content %}{% for p in content %}[{{ p.text }}]{% endfor %}{% endfor %}",
    "{% for m in messages %}{% for p in m.content | list %}[{{ p.text }}]{% endfor %}{% endfor %}",
  ])
    assert.equal(render(source, { messages: [user(parts)] }), "[a][b]", source);
  for (const source of [
    `${macro}{% for m in messages %}{{ m.content }}{% endfor %}`,
    `${macro}{% set ns = namespace() %}{% set ns.rest = messages[0:] %}{% for m in messages %}{{ show(m.content) }}{% endfor %}`,
    `${macro}{% set ns = namespace(rest=messages) %}{% for m in ns.rest %}{{ show(m.content) }}{% endfor %}`,
    `{% for m in messages %}{% set c = m.content %}${loop}{% endfor %}`,
  ])
    assert.equal(render(source, { messages: [user(parts)] }), "a\nb", source);
});

test("gives only parts to a template that reads texts and parts, as vLLM does", () => {
  const source =
    "{{ messages[0].content }}:{% for m in messages[1:] %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endif %}{% endfor %}";
  const system = { role: "system", content: "s" };
  const shown = "[{'type': 'text', 'text': 's'}]";
  assert.equal(render(source, { messages: [system, user("a")] }), `${shown}:[a]`);
  assert.equal(render(source, { messages: [system, user(""), user(null)] }), `${shown}:[]`);
  const developer = { role: "developer", content: "d" };
  assert.equal(render(source, { messages: [developer, user("a")] }), `${shown.replace("'s'", "'d'")}:[a]`);
  assert.equal(render(source, { messages: [system, user("a"), developer] }), "s\n\nd:[a]", "joined, a text");
});

test("detects the developer role by a comparison, not by the word", () => {
  const developer = { role: "developer", content: "d" };
  const shown = "{% for m in messages %}{{ m.role }} {{ m.content }};{% endfor %}";
  assert.equal(render(shown, { messages: [user("a"), developer] }), "system d;user a;");
  assert.equal(
    render(`{# for developers #}<|developer|>${shown}`, { messages: [developer] }),
    "<|developer|>system d;",
  );
  assert.equal(render(`${shown}{{ "developer" }}`, { messages: [developer] }), "developer d;developer");
});

const systemFirst = readFileSync("test/fixtures/chat-templates/qwen3.5.jinja", "utf8");
/** A template that takes an optional system message first, and then users and assistants in turns. */
const alternating =
  "{% if messages[0].role == 'system' %}<system>{{ messages[0].content }}</system>{% set messages = messages[1:] %}{% endif %}" +
  "{% for m in messages %}{% if m.role != ('user' if loop.index0 % 2 == 0 else 'assistant') %}{{ raise_exception('Roles must alternate!') }}{% endif %}" +
  "<{{ m.role }}>{{ m.content }}{% endfor %}";
const saying = (role: string, content: Conversation["messages"][number]["content"]): MessageRecord => ({
  role,
  content,
});

test("joins all system messages into the first if the template refuses a later one", () => {
  const joined: readonly (readonly [readonly MessageRecord[], string])[] = [
    [
      [saying("system", "A"), user("u"), saying("assistant", "a"), saying("system", "B"), user("v")],
      "A\n\nB",
    ],
    [[user("u"), saying("system", "B")], "B"],
    [[saying("system", "A"), saying("system", "B"), user("u")], "A\n\nB"],
    [[saying("system", "A"), user("u"), saying("developer", "B")], "A\n\nB"],
    [[saying("developer", "A"), user("u"), saying("system", "B")], "A\n\nB"],
    [[saying("system", ""), user("u"), saying("system", "B"), saying("system", "C")], "B\n\nC"],
    [[saying("system", [{ type: "text", text: "A" }]), user("u"), saying("system", ["B"])], "A\n\nB"],
    [[saying("system", null), user("u"), saying("system", "B")], "B"],
  ];
  for (const [messages, system] of joined) {
    const first = [saying("system", system), ...messages.filter(({ role }) => /user|assistant/.test(role))];
    const text = render(systemFirst, { messages });
    assert.equal(text, render(systemFirst, { messages: first }));
    assert.ok(text.startsWith(`<|im_start|>system\n${system}<|im_end|>\n<|im_start|>user`), text);
    assert.equal(text.split("<|im_start|>system").length, 2);
    assert.match(render(alternating, { messages: first }), /^<system>/);
    assert.equal(render(alternating, { messages }), render(alternating, { messages: first }));
    // A template that accepts later system messages gets all of them unchanged.
    const taken = render(turns, { messages: messages.filter(({ role }) => role !== "developer") });
    assert.equal(taken.split("<system>").length - 1, messages.filter(({ role }) => role === "system").length);
  }
});

test("reports a failure that joining does not cure, at the messages", () => {
  const refusal = (messages: readonly MessageRecord[], message: string): void =>
    assert.throws(() => render(systemFirst, { messages }), {
      code: "unsupported",
      faults: [{ location: ["prompt", "messages"], message, type: "value_error" }],
    });
  refusal(
    [saying("system", "A"), saying("system", "B")],
    'The chat template refuses these messages: "No user query found in messages."',
  );
  refusal(
    [user("u"), saying("system", "A"), saying("critic", "B")],
    'The chat template refuses these messages: "Unexpected message role."',
  );
  const own = createChatTemplate({ source: turns, toolUseSource: null, specialTokens: {}, clock });
  assert.throws(
    () =>
      own.withSource("{{ raise_exception('no') }}").render({ ...plainConversation, messages: [user("u")] }),
    (error: unknown) =>
      error instanceof ServiceError && error.faults[0].location.join(".") === "prompt.template",
    "a template of the request is at fault itself",
  );
});

test("keeps a system message that is to be continued in last place", () => {
  const messages = [saying("system", "A"), user("u"), saying("system", "B")];
  assert.throws(() => render(systemFirst, { messages, continueFinalMessage: true }), {
    message: /"System message must be at the beginning\."/,
  });
  const developed = [user("u"), saying("developer", "B")];
  assert.equal(
    render(turns, { messages: developed, continueFinalMessage: true }),
    "<user>u</user>\n<system>B",
  );
});

test("reads null content as empty, and refuses content that is not text", () => {
  assert.equal(render(turns, { messages: [user(null)] }), "<user></user>\n");
  assert.throws(() => render(turns, { messages: [user([{ type: "image_url", image_url: {} }])] }), {
    code: "unsupported",
    message: /reads text only; a content part of type "image_url" cannot be shown/,
  });
  assert.throws(() => render(turns, { messages: [user(5)] }), { code: "unsupported" });
});

test("gives a tool call's arguments as an object, and drops an empty list of calls", () => {
  const source =
    "{{ messages[0].tool_calls is defined }} {{ messages[0].tool_calls[0].function.arguments.x }}";
  const call = (text: string): Conversation["messages"] => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: text } }],
    },
  ];
  assert.equal(render(source, { messages: call('{"x": 7}') }), "True 7");
  assert.equal(
    render("{{ messages[0].tool_calls[0].function.arguments | tojson }}", { messages: call("") }),
    "{}",
  );
  assert.throws(() => render(source, { messages: call("{x") }), {
    code: "unsupported",
    message: /not valid JSON: "\{x"/,
  });
  assert.equal(
    render("{{ messages[0].tool_calls is defined }}", {
      messages: [{ role: "assistant", content: "a", tool_calls: [] }],
    }),
    "False",
  );
});

test("refuses calls in a template that joins arguments to texts, as vLLM does, naming the type", () => {
  const call = { type: "function", function: { name: "f", arguments: '{"id":1}' } };
  const joining = "{{ '>>>f\n' + messages[0].tool_calls[0]['function']['arguments'] }}";
  assert.throws(
    () => render(joining, { messages: [{ role: "assistant", content: null, tool_calls: [call] }] }),
    {
      code: "unsupported",
      message:
        'The chat template cannot render these messages: line 2: can only concatenate str (not "dict") to str. ' +
        "It gets the arguments of calls as objects.",
    },
  );
  assert.throws(() => render("{{ 'a' + {} }}", { messages: [user("a")] }), {
    message: /\(not "dict"\) to str$/,
  });
});

test("drops the broken arguments of an earlier call, so that its conversation can continue", () => {
  const call = (text: string): Conversation["messages"][number] => ({
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: text } }],
  });
  const source =
    "{% for key, value in messages[0].tool_calls[0].function.arguments | items %}{{ key }}{% endfor %}.";
  const result = { role: "tool", tool_call_id: "1", content: "no such city" };
  for (const text of ['{"city": "Ro', "[1, 2]", "null", '"x"', ""])
    assert.equal(render(source, { messages: [call(text), result] }), ".", text);
  assert.equal(render(source, { messages: [call('{"city": 1}'), result] }), "city.");
  assert.throws(() => render(source, { messages: [result, call('{"city": "Ro')] }), {
    message: /not valid JSON/,
  });
});

test("shows reasoning under both names, and leaves out null members", () => {
  const source =
    "{{ messages[0].reasoning }}{{ messages[0].reasoning_content }}{{ messages[0].thinking }}{{ messages[0].name is defined }}";
  for (const name of ["reasoning", "reasoning_content"])
    assert.equal(
      render(source, { messages: [{ role: "assistant", content: "", [name]: "r", name: null }] }),
      "rrFalse",
    );
});

test("continues the final message right after its content", () => {
  const continued = (content: Conversation["messages"][number]["content"], source = turns): string =>
    render(source, { messages: [user("q"), { role: "assistant", content }], continueFinalMessage: true });
  assert.equal(continued("I think "), "<user>q</user>\n<assistant>I think ");
  assert.equal(continued(""), "<user>q</user>\n<assistant>");
  assert.equal(
    continued("assistant"),
    "<user>q</user>\n<assistant>assistant",
    "the closing tag holds the same text",
  );
  assert.equal(
    continued([
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ]),
    "<user>q</user>\n<assistant>a\nb",
  );
  const reading = turns.replace("{{ m.content }}", "{% for p in m.content %}[{{ p.text }}]{% endfor %}");
  assert.equal(continued("I think ", reading), "<user>[q]</user>\n<assistant>[I think ");
  const trimming = turns.replace("m.content", "m.content | trim");
  assert.equal(continued("I think ", trimming), "<user>q</user>\n<assistant>I think");
});

test("refuses to continue a final message that the template hides or alters", () => {
  const refused = { code: "unsupported", message: /final message cannot be continued/ } as const;
  assert.throws(() => render("hello", { messages: [user("a")], continueFinalMessage: true }), refused);
  assert.throws(
    () =>
      render(turns.replace("m.content", "m.content | replace('a', 'b')"), {
        messages: [user("a")],
        continueFinalMessage: true,
      }),
    refused,
  );
  assert.throws(() => render(turns, { continueFinalMessage: true }), refused);
  const unnamed = "{% for m in messages %}{% for key in m %}{{ m[key] }}{% endfor %}{% endfor %}";
  assert.throws(() => render(unnamed, { messages: [user("a")], continueFinalMessage: true }), refused);
  const parts = ["a", "b"];
  const joined = turns.replace("m.content", "m.content | replace('a\n', 'a')");
  assert.throws(() => render(joined, { messages: [user(parts)], continueFinalMessage: true }), refused);
  const looping = turns.replace("{{ m.content }}", "{% for p in m.content %}{{ p.text }}{% endfor %}");
  assert.throws(() => render(looping, { messages: [user(null)], continueFinalMessage: true }), refused);
  assert.equal(render(turns, { messages: [user(null)], continueFinalMessage: true }), "<user>");
});

test("refuses a prompt that is empty or leaves no room for an answer", async () => {
  const tokenizer = await loadTokenizer("test/fixtures/goldens/models/qwen3");
  const template = createChatTemplate({
    source: "{{ messages[0].content }}",
    toolUseSource: null,
    specialTokens: {},
    clock,
  });
  const count = (content: string, contextLength: number): number => {
    const fit = { purpose: "answer", contextLength, keepLast: null } as const;
    const conversation = { messages: [user(content)], ...plainConversation };
    return renderPrompt(tokenizer, template, conversation, { fit }).length;
  };
  assert.equal(count("zzzz", 5), 4);
  const tooLong =
    "This model's maximum context length is 4 tokens. However, your request has 4 input tokens. Please reduce the length of the input messages.";
  assert.throws(() => count("zzzz", 4), { code: "unsupported", message: tooLong });
  assert.throws(() => count("z".repeat(100_000), 64), {
    code: "unsupported",
    message: /has at least \d+ input tokens/,
  });
  assert.throws(() => count("", 4), { code: "unsupported", message: /empty prompt/ });
});

test("finds templates in tokenizer_config.json: one, or a list of named ones", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "template-"));
  t.after(() => rm(folder, { recursive: true }));
  const write = (value: unknown): Promise<void> =>
    writeFile(join(folder, "tokenizer_config.json"), JSON.stringify(value));
  const rendered = async (tools: Conversation["tools"]): Promise<string> =>
    (await loadChatTemplate(folder, { clock })).render({
      messages: [],
      ...plainConversation,
      tools,
    });
  await assert.rejects(rendered(null), { code: "unsupported", message: /no chat template of its own/ });
  await write({ chat_template: "one {{ eos_token }}", eos_token: { content: "</s>" } });
  assert.equal(await rendered(null), "one </s>");
  await write({
    chat_template: [
      { name: "default", template: "plain" },
      { name: "tool_use", template: "with tools" },
    ],
  });
  assert.equal(await rendered(null), "plain");
  assert.equal(await rendered([{}]), "with tools");
});
