// Tests over HTTP the fields of chat requests that control the prompt or return it, as tokens and as text. One server
// serves all tests.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { loadTokenizer } from "../src/lib/tokenizer/tokenizer.ts";
import { call, serverOfFile } from "./running-server.ts";
import { golden, templated } from "./templated-models.ts";

const server = serverOfFile({ flags: templated });

const tokenizer = await loadTokenizer(golden);
const textOf = (ids: readonly number[]): string => tokenizer.decode(ids, { skipSpecialTokens: false });
const hi = [{ role: "user", content: "Hi" }];

/** Part of tokenizer.json that contains the ids of the tokens. */
interface TokenizerFile {
  readonly model: { readonly vocab: Readonly<Record<string, number>> };
  readonly added_tokens: readonly { readonly id: number; readonly content: string }[];
}
const file = JSON.parse(readFileSync(join(golden, "tokenizer.json"), "utf8")) as TokenizerFile;
const spellings = new Map([
  ...Object.entries(file.model.vocab).map(([token, id]) => [id, token] as const),
  ...file.added_tokens.map(({ id, content }) => [id, content] as const),
]);

async function ask(path: string, body: object): Promise<{ readonly status: number; readonly body: any }> {
  return call(server(), "POST", path, { body });
}

async function promptIds(body: object): Promise<readonly number[]> {
  const asked = { messages: hi, max_tokens: 1, return_token_ids: true, ...body };
  const answer = await ask("/v1/chat/completions", asked);
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  const ids = answer.body.prompt_token_ids as readonly number[];
  assert.equal(answer.body.usage.prompt_tokens, ids.length);
  return ids;
}

const promptText = async (body: object): Promise<string> => textOf(await promptIds(body));

async function refused(body: object, status: number, place: string, message: RegExp): Promise<void> {
  const answer = await ask("/v1/chat/completions", { messages: hi, max_tokens: 1, ...body });
  assert.equal(answer.status, status, JSON.stringify(answer.body));
  assert.equal(answer.body.detail[0].loc.join("."), place);
  assert.match(answer.body.error.message, message);
}

const opened = "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n";

test("`documents`, `tools`, names, and roles of any kind in `messages` reach the template", async () => {
  const documents = [{ title: "T", text: "words" }];
  assert.equal(await promptText({ documents }), `<|im_start|>system\n[T] words\n<|im_end|>\n${opened}`);
  const tool = { type: "function", function: { name: "f", parameters: { type: "object" } } };
  const shown = '{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}';
  assert.equal(
    await promptText({ tools: [tool], tool_choice: "none" }),
    `<|im_start|>system\n# Tools\n${shown}\n<|im_end|>\n${opened}`,
  );
  const messages = [
    { role: "developer", content: "D" },
    { role: "user", name: "Ann", content: [{ type: "text", text: "a" }, "b"] },
    { role: "function", name: "f", content: "1" },
    { role: "pirate", content: "Arr" },
  ];
  assert.equal(
    await promptText({ messages }),
    "<|im_start|>system\nD<|im_end|>\n<|im_start|>user Ann\na\nb<|im_end|>\n" +
      "<|im_start|>function f\n1<|im_end|>\n<|im_start|>pirate\nArr<|im_end|>\n<|im_start|>assistant\n",
  );
  await refused({ documents: [{ title: "T", text: 5 }] }, 422, "body.documents.0.text", /valid string/);
});

test("`chat_template_kwargs` become template variables, but fields of the request take precedence", async () => {
  const quiet = `${opened}<think>\n\n</think>\n\n`;
  assert.equal(await promptText({ chat_template_kwargs: { enable_thinking: false } }), quiet);
  assert.equal(await promptText({ chat_template_kwargs: { enable_thinking: true, unknown: [1] } }), opened);
  const closed = "<|im_start|>user\nHi<|im_end|>\n";
  const kwargs = { chat_template_kwargs: { add_generation_prompt: false, messages: [] } };
  assert.equal(await promptText(kwargs), closed);
  assert.equal(await promptText({ ...kwargs, add_generation_prompt: true }), opened);
  for (const name of ["chat_template", "tokenize"]) {
    const place = `body.chat_template_kwargs.${name}`;
    await refused(
      { chat_template_kwargs: { [name]: "x" } },
      422,
      place,
      /is not a variable of a chat template/,
    );
  }
});

test("`reasoning_effort` reaches the template, and the value none turns thinking off", async () => {
  const chat_template = "{{ messages[0].content }} {{ reasoning_effort }} {{ enable_thinking }}";
  for (const reasoning_effort of ["minimal", "low", "medium", "high"]) {
    assert.equal(await promptText({ reasoning_effort, chat_template }), `Hi ${reasoning_effort} True`);
  }
  assert.equal(await promptText({ reasoning_effort: "none", chat_template }), "Hi none False");
  assert.equal(await promptText({ reasoning_effort: "none" }), `${opened}<think>\n\n</think>\n\n`);
  const kept = { reasoning_effort: "none", chat_template_kwargs: { enable_thinking: true } };
  assert.equal(await promptText(kept), opened);
  assert.equal(await promptText({ reasoning_effort: null }), opened);
  await refused({ reasoning_effort: "huge" }, 422, "body.reasoning_effort", /'none', 'minimal', 'low'/);
});

test("`chat_template` replaces the model's own template, and errors in it are reported", async () => {
  const chat_template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}{{ eos_token }}{% endfor %}";
  assert.equal(await promptText({ chat_template }), "[user] Hi<|im_end|>");
  assert.equal(await promptText({ chat_template: null }), opened);
  const place = "body.chat_template";
  await refused(
    { chat_template: "{{ raise_exception('Only dogs') }}" },
    400,
    place,
    /^The chat template refuses these messages: "Only dogs"$/,
  );
  await refused({ chat_template: "{% if %}" }, 400, place, /The chat template has an error/);
  await refused({ chat_template: "x".repeat(300_000) }, 400, place, /chat_template has 300000 characters/);
  const deep = `{{ ${"(".repeat(5_000)}1${")".repeat(5_000)} }}`;
  await refused({ chat_template: deep }, 400, place, /nested too deeply/);
});

test("a template that loops forever is refused, and other requests are answered", async () => {
  const loop = "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}";
  const hostile = refused({ chat_template: loop }, 400, "body.chat_template", /within 0\.8 s/);
  assert.equal(await promptText({}), opened);
  await hostile;
  assert.equal(await promptText({ chat_template: "Hi" }), "Hi");
});

test("`continue_final_message` ends the prompt with the final message; `add_generation_prompt` false opens no turn", async () => {
  const messages = [...hi, { role: "assistant", content: "Well, " }];
  assert.equal(await promptText({ messages, continue_final_message: true }), `${opened}Well, `);
  const closed = `${opened}Well, <|im_end|>\n`;
  assert.equal(await promptText({ messages, add_generation_prompt: false }), closed);
  const hidden = { messages, continue_final_message: true, chat_template: "x" };
  await refused(hidden, 400, "body.continue_final_message", /does not show it/);
});

test("`add_special_tokens` adds the tokenizer's special tokens", async () => {
  const plain = await promptIds({ add_special_tokens: false });
  assert.deepEqual(await promptIds({}), plain);
  assert.deepEqual(await promptIds({ add_special_tokens: true }), [0, ...plain]);
});

test("`truncate_prompt_tokens` keeps the last tokens of a prompt, up to the given number or the available room", async () => {
  const all = await promptIds({});
  assert.deepEqual(await promptIds({ truncate_prompt_tokens: 3 }), all.slice(-3));
  assert.deepEqual(await promptIds({ truncate_prompt_tokens: 256 }), all);
  assert.deepEqual(await promptIds({ truncate_prompt_tokens: -1 }), all);
  const messages = [{ role: "user", content: "z".repeat(1000) }];
  assert.equal((await promptIds({ messages, truncate_prompt_tokens: -1, max_tokens: 6 })).length, 250);
  assert.equal((await promptIds({ messages, truncate_prompt_tokens: -1, max_tokens: null })).length, 255);
  const place = "body.truncate_prompt_tokens";
  await refused(
    { truncate_prompt_tokens: 257 },
    400,
    place,
    /257, more than .* context length of 256 tokens/,
  );
  await refused(
    { truncate_prompt_tokens: -1, max_tokens: 256 },
    400,
    place,
    /max_tokens 256 leaves no room for a prompt/,
  );
  await refused({ truncate_prompt_tokens: 0 }, 422, place, /must be an integer >= 1 or -1, got 0/);
  await refused({ messages, truncate_prompt_tokens: 256 }, 400, "body.messages", /has 256 input tokens/);
});

test("/tokenize returns the tokens of a chat, and /detokenize converts them back", async () => {
  const documents = [{ title: "T", text: "words" }];
  const last = { role: "assistant", content: "Well, " };
  for (const body of [
    {},
    { documents, add_special_tokens: true },
    { chat_template: "{{ messages[0].content }}{{ mine }}", chat_template_kwargs: { mine: "é😀" } },
    { reasoning_effort: "none" },
    { add_generation_prompt: false },
    { messages: [...hi, last], continue_final_message: true },
  ]) {
    const ids = await promptIds(body);
    const { status, body: answer } = await ask("/tokenize", {
      messages: hi,
      ...body,
      return_token_strs: true,
    });
    assert.equal(status, 200, JSON.stringify(answer));
    const { token_strs: texts, ...rest } = answer;
    assert.deepEqual(rest, { count: ids.length, max_model_len: 256, tokens: ids });
    assert.deepEqual(
      texts,
      ids.map((id) => spellings.get(id)),
    );
    assert.deepEqual((await ask("/detokenize", { tokens: ids })).body, { prompt: textOf(ids) });
  }
});

test("/tokenize accepts a text of any length unchanged, and adds the tokenizer's begin token", async () => {
  const ids = tokenizer.encode("Hi<|im_end|>", { addSpecialTokens: false });
  const tokensOf = async (body: object): Promise<unknown> => {
    const { status, body: answer } = await ask("/tokenize", { model: "tiny", ...body });
    assert.equal(status, 200, JSON.stringify(answer));
    assert.equal(answer.token_strs, null);
    assert.equal(answer.count, answer.tokens.length);
    return answer.tokens;
  };
  assert.deepEqual(await tokensOf({ prompt: "Hi<|im_end|>" }), [0, ...ids]);
  assert.deepEqual(await tokensOf({ prompt: "Hi<|im_end|>", add_special_tokens: false }), ids);
  assert.deepEqual(await tokensOf({ prompt: "", add_special_tokens: false }), []);
  const { body: long } = await ask("/tokenize", { prompt: "z".repeat(5000), add_special_tokens: false });
  assert.equal((await ask("/detokenize", { tokens: long.tokens })).body.prompt, "z".repeat(5000));
});

test("input that cannot be tokenized or detokenized is refused, naming the field", async () => {
  const table: readonly (readonly [string, object, number, string, RegExp])[] = [
    ["/tokenize", {}, 422, "body.prompt", /Field required: prompt or messages/],
    ["/tokenize", { prompt: "a", messages: hi }, 422, "body", /give one/],
    ["/tokenize", { prompt: "a", tools: [] }, 422, "body.tools", /the request has a prompt/],
    ["/tokenize", { prompt: 5 }, 422, "body.prompt", /valid string/],
    ["/tokenize", { messages: [] }, 422, "body.messages", /at least 1/],
    [
      "/tokenize",
      { messages: hi, chat_template: "{{ raise_exception('No') }}" },
      400,
      "body.chat_template",
      /^The chat template refuses these messages: "No"$/,
    ],
    [
      "/tokenize",
      { messages: [{ role: "user", content: 5 }] },
      422,
      "body.messages.0.content.str",
      /valid string/,
    ],
    ["/tokenize", { prompt: "a", model: "other" }, 404, "body.model", /other/],
    ["/tokenize", { prompt: "z".repeat(3_000_000) }, 400, "body.prompt", /at most 131072 are counted\./],
    [
      "/detokenize",
      { tokens: [1, 512] },
      400,
      "body.tokens",
      /token id 512 is unknown: the model tiny knows ids below 512/,
    ],
    ["/detokenize", { tokens: [-1] }, 422, "body.tokens.0", /greater than or equal to 0/],
    [
      "/detokenize",
      { tokens: Array.from({ length: 131_073 }, () => 1) },
      400,
      "body.tokens",
      /at most 131072/,
    ],
    ["/detokenize", { tokens: [1], model: "other" }, 404, "body.model", /other/],
  ];
  for (const [path, body, status, place, message] of table) {
    const answer = await ask(path, body);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.equal(answer.body.detail[0].loc.join("."), place);
    assert.match(answer.body.error.message, message);
    assert.equal((await fetch(`${server().url}${path}`, { method: "POST", body: "{}" })).status, 401);
  }
});
