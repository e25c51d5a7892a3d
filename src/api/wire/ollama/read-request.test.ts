// Tests that requests of Ollama's API are read like the equivalent chat requests and text completions, and that
// refusals name the path at which the client sent the field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { parseExactBody } from "../../../base/validation/json-body.ts";
import { bodyLimits, httpSettings } from "../../http/settings.ts";
import { readChatRequest } from "../chat/read-chat-request.ts";
import { readCompletion } from "../completions/read-completion.ts";
import { readEmbedding } from "../embeddings/embedding-request.ts";
import { readOllamaEmbed } from "./embed.ts";
import { readOllamaChat, readOllamaGenerate } from "./read-request.ts";

const limits = bodyLimits(httpSettings.with());
const id = { value: "r", isChosen: true };
const hi = { role: "user", content: "Hi" };
// Ollama's answers have no field for token ids, and have log-probabilities only on request.
const unasked = { logprobs: false, return_token_ids: false };

function sameChat(body: object, chat: object): void {
  const { request } = readOllamaChat({ messages: [hi], ...body }, limits, id);
  assert.deepEqual(
    request,
    readChatRequest({ messages: [hi], ...unasked, ...chat }, limits, id).request,
    JSON.stringify(body),
  );
}

/** Like {@link sameChat}, for a request that a model without thoughts must refuse. */
function sameThinking(think: unknown, chat: object): void {
  const { request } = readOllamaChat({ messages: [hi], think }, limits, id);
  const { output, ...same } = readChatRequest({ messages: [hi], ...unasked, ...chat }, limits, id).request;
  assert.deepEqual(request, { ...same, output: { ...output, requiresReasoning: true } });
}

function refuses(read: () => unknown, code: string, faults: readonly (readonly [string, RegExp])[]): void {
  assert.throws(read, (error) => {
    assert.ok(error instanceof ServiceError, String(error));
    assert.equal(error.code, code);
    assert.deepEqual(
      error.faults.map(({ location }) => location.slice(1).join(".")),
      faults.map(([place]) => place),
    );
    for (const [index, { message }] of error.faults.entries()) assert.match(message, faults[index][1]);
    return true;
  });
}

const chat = (body: object) => () => readOllamaChat({ messages: [hi], ...body }, limits, id);

test("reads options like the fields of a chat request with the same meaning", () => {
  sameChat({}, {});
  sameChat(
    { model: "m:latest", keep_alive: "5m", format: "", think: null, options: {} },
    { model: "m:latest" },
  );
  const options = { temperature: 0, top_k: 4, top_p: 0.9, min_p: 0.1, seed: 7, stop: ["a"], num_predict: 5 };
  const { num_predict, ...rest } = options;
  sameChat({ options }, { ...rest, max_tokens: num_predict });
  for (const unlimited of [-1, -2, 0]) sameChat({ options: { num_predict: unlimited } }, { max_tokens: -1 });
  sameChat({ options: { seed: -1, stop: "a" } }, { stop: "a" });
  sameChat(
    { options: { repeat_penalty: 1.1, presence_penalty: 1, frequency_penalty: -1, repeat_last_n: -1 } },
    { repetition_penalty: 1.1, presence_penalty: 1, frequency_penalty: -1 },
  );
  sameChat({ options: { repeat_penalty: 1.1, repeat_last_n: 0 } }, { repetition_penalty: 1 });
  sameChat({ options: { typical_p: 1, mirostat: 0, tfs_z: 1, repeat_last_n: 64 } }, {});
  const { notices } = readOllamaChat({ messages: [hi], options: { num_ctx: 9, num_gpu: 1 } }, limits, id);
  assert.deepEqual(notices, ["options without effect: num_ctx, num_gpu"]);
});

test("reads the format, thinking, log-probabilities and tools", () => {
  const schema = { type: "object", properties: { a: { type: "integer" } } };
  sameChat({ format: "json" }, { response_format: { type: "json_object" } });
  sameChat(
    { format: schema },
    { response_format: { type: "json_schema", json_schema: { name: "output", schema } } },
  );
  sameChat({ think: false }, { reasoning_effort: "none" });
  sameThinking("max", { reasoning_effort: "max" });
  sameThinking(true, { chat_template_kwargs: { enable_thinking: true } });
  sameChat({ logprobs: true, top_logprobs: 3 }, { logprobs: true, top_logprobs: 3 });
  const tools = [{ type: "function", function: { name: "f", parameters: schema } }];
  sameChat({ tools }, { tools });
});

test("gives calls and their results the ids that Ollama's clients leave out", () => {
  const call = (name: string, id?: string) => ({
    ...(id ? { id } : {}),
    function: { name, arguments: { a: 1 } },
  });
  const read = (name: string, id: string) => ({
    id,
    type: "function",
    function: { name, arguments: '{"a":1}' },
  });
  sameChat(
    {
      messages: [
        hi,
        {
          role: "assistant",
          content: "",
          thinking: "t",
          tool_calls: [call("f"), call("g"), call("g", "own")],
        },
        { role: "tool", tool_name: "g", content: "2" },
        { role: "tool", content: "1" },
        { role: "tool", tool_call_id: "own", content: "3" },
        { role: "Assistant", content: "So" },
      ],
    },
    {
      messages: [
        hi,
        {
          role: "assistant",
          content: "",
          reasoning_content: "t",
          tool_calls: [read("f", "call00001"), read("g", "call00002"), read("g", "own")],
        },
        { role: "tool", content: "2", name: "g", tool_call_id: "call00002" },
        { role: "tool", content: "1", tool_call_id: "call00001" },
        { role: "tool", content: "3", tool_call_id: "own" },
        { role: "assistant", content: "So" },
      ],
      continue_final_message: true,
    },
  );
});

test("keeps the digits of numbers in a call's arguments", () => {
  const message = `{"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":{"a":1234567890123456789}}}]}`;
  const body = `{"messages":[{"role":"user","content":"x"},${message}],"options":{"temperature":1.0}}`;
  const { value, exact } = parseExactBody(Buffer.from(body), { depthMax: 9, valuesMax: 99 });
  const { prompt, sampling } = readOllamaChat(value, limits, id, exact).request;
  assert.ok(prompt.kind === "conversation");
  assert.match(JSON.stringify(prompt.messages[1]), /\{\\"a\\":1234567890123456789\}/);
  assert.equal(sampling.temperature, 1);
});

test("reads a prompt through the chat template, or as it is with raw", () => {
  const generate = (body: object) => readOllamaGenerate(body, limits, id).request;
  assert.deepEqual(
    generate({ prompt: "Hi", system: "s", template: "", context: [], suffix: "", images: [] }),
    readChatRequest({ ...unasked, messages: [{ role: "system", content: "s" }, hi] }, limits, id).request,
  );
  assert.deepEqual(
    generate({ prompt: "Hi", raw: true, logprobs: true, options: { num_predict: 3 } }),
    readCompletion({ prompt: "Hi", max_tokens: 3, logprobs: 0, return_token_ids: false }, limits, id)
      .requests[0],
  );
  assert.equal(generate({ prompt: "Hi", raw: true }).stopping.maxTokens, Infinity);
});

test("reads a request without messages or a prompt as one that only loads the model", () => {
  for (const read of [
    readOllamaChat({ model: "m" }, limits, id),
    readOllamaGenerate({ model: "m", prompt: "" }, limits, id),
  ]) {
    assert.deepEqual([read.form.isLoading, read.request.identity.model], [true, "m"]);
    assert.deepEqual([read.request.stopping.maxTokens, read.request.recording.isWanted], [1, false]);
  }
  for (const time of [0, "0", "0s", "0.0m"])
    refuses(() => readOllamaGenerate({ keep_alive: time }, limits), "unsupported", [
      ["keep_alive", /asks to unload the model/],
    ]);
  assert.equal(readOllamaChat({ keep_alive: 0, messages: [hi] }, limits).form.isLoading, false);
});

test("refuses unsupported fields and options, and names them", () => {
  refuses(
    chat({
      messages: [hi, { ...hi, images: ["a"] }],
      truncate: true,
      shift: true,
      options: { typical_p: 0.5, mirostat: 1, tfs_z: 2, repeat_penalty: 1.1, repeat_last_n: 64 },
    }),
    "unsupported",
    [
      ["truncate", /truncate is not supported by this server; leave it out, and send fewer messages/],
      ["shift", /shift is not supported/],
      ["messages.1.images", /images are not supported by this server, whose models read only text/],
      ["options.typical_p", /leave it out, or send 1\.$/],
      ["options.mirostat", /leave it out, or send 0\.$/],
      ["options.tfs_z", /leave it out, or send 1\.$/],
      ["options.repeat_last_n", /repeat_penalty applies to all tokens/],
    ],
  );
  refuses(
    () =>
      readOllamaGenerate(
        { prompt: "a", template: "{{ .Prompt }}", context: [1], suffix: "b", images: ["c"] },
        limits,
      ),
    "unsupported",
    [
      ["template", /are Jinja templates|chat_template/],
      ["context", /\/api\/chat/],
      ["suffix", /leave it out/],
      ["images", /leave them out/],
    ],
  );
});

test("reports faults at the paths and under the names that were sent", () => {
  refuses(chat({ options: { top_p: 9, num_predict: 0.5 } }), "invalid", [["options.num_predict", /integer/]]);
  refuses(chat({ options: { top_p: 9, repeat_penalty: 0 } }), "invalid", [
    ["options.top_p", /less than or equal to 1/],
    ["options.repeat_penalty", /greater than 0/],
  ]);
  refuses(chat({ format: "yaml" }), "invalid", [["format", /"json" or a JSON Schema/]]);
  refuses(chat({ top_logprobs: 21, think: "huge" }), "invalid", [
    ["top_logprobs", /20/],
    ["think", /low/],
  ]);
  refuses(chat({ messages: Array.from({ length: 4097 }, () => hi) }), "invalid", [
    ["messages", /at most 4096/],
  ]);
  const { fieldPaths } = readOllamaGenerate({ prompt: "a", system: "b" }, limits);
  assert.deepEqual(fieldPaths["stopping.maxTokens"], ["body", "options", "num_predict"]);
});

test("reads dimensions of embeddings like OpenAI's, and 0 as all of them", () => {
  const read = (body: object) => readOllamaEmbed({ model: "m", input: "a", ...body }).request;
  const openai = (body: object) => readEmbedding({ model: "m", input: "a", ...body }).request;
  assert.deepEqual(read({ dimensions: 8 }).dimensions, openai({ dimensions: 8 }).dimensions);
  assert.deepEqual(read({ dimensions: 0 }).dimensions, openai({}).dimensions);
  assert.throws(() => read({ dimensions: -1 }), ServiceError);
});
