import assert from "node:assert/strict";
import { test } from "node:test";
import { chatRequest, type RequestChanges } from "../../../inference/chat/testing/chat-request.ts";
import type { ChatRequest } from "../../../base/domain/chat.ts";
import { ServiceError, type Fault } from "../../../base/domain/service-error.ts";
import type { MessageRecord } from "../../../base/domain/trajectory.ts";
import { httpSettingsWith } from "../../http/settings.ts";
import { readChatRequest } from "./read-chat-request.ts";

const messages = [{ role: "user", content: "hi" }];
const limits = httpSettingsWith();

type ExpectedFault = readonly [place: string, message: string | RegExp];

function refuses(body: object, code: "invalid" | "unserved", faults: readonly ExpectedFault[]) {
  if (code === "unserved") {
    checkFaults(readChatRequest({ messages, ...body }, limits).request.unserved, faults);
    return;
  }
  assert.throws(
    () => readChatRequest({ messages, ...body }, limits),
    (error) => {
      assert.ok(error instanceof ServiceError, String(error));
      assert.equal(error.code, code, error.message);
      checkFaults(error.faults, faults);
      return true;
    },
  );
}

function checkFaults(found: readonly Fault[], expected: readonly ExpectedFault[]): void {
  assert.deepEqual(
    found.map(({ location }) => location.join(".")),
    expected.map(([place]) => `body${place}`),
  );
  expected.forEach(([, message], index) => {
    const said = found[index]?.message ?? "";
    if (message instanceof RegExp) assert.match(said, message);
    else assert.equal(said, message);
  });
}

/** The request that is read, and nothing else of it, differs so from a plain one. */
function reads(body: object, changes: RequestChanges): void {
  const { request } = readChatRequest({ messages, request_id: "r1", ...body }, limits);
  assert.deepEqual(request, chatRequest(changes), JSON.stringify(body));
}

test("a request with messages alone has every default, and an id of its own", () => {
  const { request, form, ignored } = readChatRequest({ messages }, limits);
  const { requestId } = request.identity;
  assert.match(requestId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(request, chatRequest({ identity: { requestId } }));
  assert.deepEqual(form, {
    isStream: false,
    includesUsage: false,
    usageInEveryChunk: false,
    tokensAsIds: false,
  });
  assert.deepEqual(ignored, []);
});

test("null equals absent on every nullable field, and defaults pass on those not served", () => {
  const nullable = [
    "model",
    "frequency_penalty",
    "logit_bias",
    "logprobs",
    "top_logprobs",
    "max_tokens",
    "max_completion_tokens",
    "n",
    "presence_penalty",
    "response_format",
    "seed",
    "stop",
    "stream",
    "stream_options",
    "temperature",
    "top_p",
    "tools",
    "tool_choice",
    "reasoning_effort",
    "parallel_tool_calls",
    "user",
    "top_k",
    "min_p",
    "top_n_sigma",
    "repetition_penalty",
    "stop_token_ids",
    "truncate_prompt_tokens",
    "prompt_logprobs",
    "allowed_token_ids",
    "documents",
    "chat_template",
    "chat_template_kwargs",
    "mm_processor_kwargs",
    "structured_outputs",
    "logits_processors",
    "return_tokens_as_token_ids",
    "return_token_ids",
    "cache_salt",
    "kv_transfer_params",
    "vendor_xargs",
    "vllm_xargs",
  ];
  reads(Object.fromEntries(nullable.map((name) => [name, null])), {});
  reads(
    {
      frequency_penalty: 0,
      presence_penalty: 0,
      repetition_penalty: 1,
      min_p: 0,
      logit_bias: {},
      response_format: { type: "text" },
      include_reasoning: true,
      use_beam_search: false,
      length_penalty: 1,
      stop_token_ids: [],
      ignore_eos: false,
      min_tokens: 0,
      bad_words: [],
      add_special_tokens: false,
      documents: [],
      chat_template_kwargs: {},
      priority: 0,
      logits_processors: [],
      vendor_xargs: {},
      tool_choice: "none",
      mm_processor_kwargs: { a: 1 },
      parallel_tool_calls: true,
      spaces_between_special_tokens: false,
    },
    {
      sampling: {
        frequencyPenalty: 0,
        presencePenalty: 0,
        repetitionPenalty: 1,
        minP: 0,
        logitBias: [],
        badWords: [],
        processors: [],
        extraArguments: {},
      },
    },
  );
});

test("null is refused on every field that is not nullable", () => {
  const notNullable = [
    "messages",
    "include_reasoning",
    "use_beam_search",
    "length_penalty",
    "include_stop_str_in_output",
    "ignore_eos",
    "min_tokens",
    "skip_special_tokens",
    "spaces_between_special_tokens",
    "bad_words",
    "echo",
    "add_generation_prompt",
    "continue_final_message",
    "add_special_tokens",
    "priority",
    "request_id",
  ];
  refuses(
    Object.fromEntries(notNullable.map((name) => [name, null])),
    "invalid",
    notNullable.map((name) => [`.${name}`, /^Input should be a valid/]),
  );
});

test("reads every field into its place", () => {
  reads(
    { model: "m", request_id: "r", user: "me", priority: 3, cache_salt: "s" },
    {
      identity: {
        model: "m",
        requestId: "r",
        user: "me",
        priority: 3,
        cacheSalt: "s",
      },
    },
  );
  reads(
    { temperature: 0, top_p: 1, top_k: 5, seed: -(2 ** 63), min_p: 0.5, allowed_token_ids: [7] },
    {
      sampling: {
        temperature: 0,
        topP: 1,
        topK: 5,
        seed: -(2 ** 63),
        minP: 0.5,
        allowedTokenIds: [7],
      },
    },
  );
  reads({ top_n_sigma: 1.5 }, { sampling: { topNSigma: 1.5 } });
  // llama.cpp's clients switch it off by -1.
  for (const off of [0, -1, -0.5]) {
    reads({ top_n_sigma: off }, { sampling: { topNSigma: 0 } });
    reads(
      { top_n_sigma: off, use_beam_search: true },
      { sampling: { topNSigma: 0 }, output: { choices: { kind: "beam", width: 1, lengthPenalty: 1 } } },
    );
  }
  const penalties = { repetition_penalty: 1.1, frequency_penalty: 0.2, presence_penalty: -0.3 };
  reads(penalties, {
    sampling: { repetitionPenalty: 1.1, frequencyPenalty: 0.2, presencePenalty: -0.3 },
  });
  const processor = { qualname: "q", args: [1], kwargs: { b: 2 } };
  reads(
    { logit_bias: { 4: -1, 9: 2 }, bad_words: ["x"], logits_processors: ["p", processor] },
    {
      sampling: {
        logitBias: [
          [4, -1],
          [9, 2],
        ],
        badWords: ["x"],
        processors: [
          { name: "p", args: [], kwargs: {} },
          { name: "q", args: [1], kwargs: { b: 2 } },
        ],
      },
    },
  );
  const extraArguments = { a: 1, b: "x", c: [1, "y"] };
  reads({ vendor_xargs: extraArguments }, { sampling: { extraArguments } });
  reads({ vllm_xargs: extraArguments }, { sampling: { extraArguments } });
  reads({ vendor_xargs: null, vllm_xargs: { a: 1 } }, { sampling: { extraArguments: { a: 1 } } });
  reads({ top_k: -1, stop: "a" }, { sampling: { topK: 0 }, stopping: { stop: ["a"] } });
  reads(
    { stop: ["a", "b"], max_tokens: 1, min_tokens: 1 },
    { stopping: { stop: ["a", "b"], maxTokens: 1, minTokens: 1 } },
  );
  reads(
    { stop_token_ids: [4, 9], ignore_eos: true },
    { stopping: { stopTokenIds: [4, 9], ignoreEndTokens: true } },
  );
  // Members of an object are in the order of their names where these are whole numbers.
  reads({ logit_bias: { "07": 3, 7: 2 } }, { sampling: { logitBias: [[7, 3]] } });
  reads({ include_stop_str_in_output: true }, { stopping: { includeStopText: true } });
  reads({ skip_special_tokens: false }, { output: { skipSpecialTokens: false } });
  reads({ echo: true }, { prompt: { echo: true }, output: { promptLogprobCount: 0 } });
  reads({ echo: true, stream: true }, { prompt: { echo: true } });
  reads({ max_tokens: 1, max_completion_tokens: 2 }, { stopping: { maxTokens: 2 } });
  reads({ n: 128 }, { output: { choices: { kind: "sample", count: 128 } } });
  reads(
    { use_beam_search: true, n: 4 },
    { output: { choices: { kind: "beam", width: 4, lengthPenalty: 1 } } },
  );
  reads(
    { use_beam_search: true, length_penalty: -0.5, stop: [], top_k: -1, temperature: 2, seed: 1 },
    {
      output: { choices: { kind: "beam", width: 1, lengthPenalty: -0.5 } },
      sampling: { topK: 0, temperature: 2, seed: 1 },
    },
  );
  reads({ logprobs: true }, { output: { logprobs: { topCount: 0 } } });
  reads({ logprobs: true, top_logprobs: 20 }, { output: { logprobs: { topCount: 20 } } });
  reads({ logprobs: false, return_token_ids: false }, { output: { logprobs: null, returnTokenIds: false } });
  const continued = { continueFinalMessage: true, addGenerationPrompt: false };
  reads({ continue_final_message: true }, { prompt: continued });
  reads({ continue_final_message: true, add_generation_prompt: false }, { prompt: continued });
  const tool = { type: "function", function: { name: "f", other: 1 } };
  reads({ tools: [tool] }, { prompt: { tools: [tool] } });
  reads({ tools: [] }, {});
  reads(
    {
      documents: [{ title: "t", text: "x" }],
      chat_template: "x",
      chat_template_kwargs: { a: 1 },
      add_special_tokens: true,
      truncate_prompt_tokens: -1,
      reasoning_effort: "minimal",
    },
    {
      prompt: {
        documents: [{ title: "t", text: "x" }],
        template: "x",
        templateArguments: { a: 1 },
        addSpecialTokens: true,
        truncation: -1,
        reasoningEffort: "minimal",
      },
    },
  );
});

test("a field of the request wins over a template's argument of its name", () => {
  const documents = [{ text: "x" }];
  const given = { a: 1, tools: 2, documents: 3, add_generation_prompt: false, reasoning_effort: "low" };
  reads({ chat_template_kwargs: given }, { prompt: { templateArguments: given } });
  reads(
    {
      chat_template_kwargs: given,
      tools: [],
      documents,
      add_generation_prompt: true,
      reasoning_effort: "none",
    },
    { prompt: { templateArguments: { a: 1 }, documents, reasoningEffort: "none" } },
  );
});

function messagesOf(body: object): readonly MessageRecord[] {
  const { prompt } = readChatRequest(body, limits).request;
  assert.ok(prompt.kind === "conversation");
  return prompt.messages;
}

test("passes messages on as they were sent, in all their forms", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const sent = [
    { role: "pirate", content: ["a", { type: "text", text: "b" }, { type: "refusal", refusal: "c" }] },
    { role: "assistant", content: null, tool_calls: [call], refusal: null, reasoning_content: "r" },
    { role: "tool", content: "42", tool_call_id: "c", name: "f", tool_calls: [] },
    { role: "assistant" },
  ];
  assert.deepEqual(messagesOf({ messages: sent }), sent);
});

test("knows where the request's fields stand: as sent, where there are two spellings", () => {
  const placeOf = (body: object, field: string): string | undefined =>
    readChatRequest({ messages, ...body }, limits).places[field]?.join(".");
  assert.equal(placeOf({}, "stopping.maxTokens"), "body.max_completion_tokens");
  assert.equal(placeOf({ max_tokens: 1 }, "stopping.maxTokens"), "body.max_tokens");
  assert.equal(
    placeOf({ max_tokens: 1, max_completion_tokens: 1 }, "stopping.maxTokens"),
    "body.max_completion_tokens",
  );
  assert.equal(placeOf({ response_format: { type: "json_object" } }, "constraint"), "body.response_format");
  assert.equal(placeOf({ structured_outputs: { regex: "a" } }, "constraint"), "body.structured_outputs");
  assert.equal(placeOf({ n: 2 }, "output.choices"), "body.n");
});

test("reads how to answer", () => {
  const form = (body: object): object => readChatRequest({ messages, stream: true, ...body }, limits).form;
  const base = { isStream: true, includesUsage: false, usageInEveryChunk: false, tokensAsIds: false };
  assert.deepEqual(form({}), base);
  assert.deepEqual(form({ stream_options: {} }), base);
  assert.deepEqual(form({ stream_options: { include_usage: false, continuous_usage_stats: true } }), base);
  assert.deepEqual(form({ stream_options: { include_usage: true, continuous_usage_stats: true } }), {
    ...base,
    includesUsage: true,
    usageInEveryChunk: true,
  });
  assert.deepEqual(form({ return_tokens_as_token_ids: true }), { ...base, tokensAsIds: true });
});

test("names unknown fields and keeps them out of the way", () => {
  assert.deepEqual(
    readChatRequest({ messages, store: true, stream: true, stream_options: { x: 1 } }, limits).ignored,
    ["stream_options.x"],
  );
});

test("refuses what is out of range", () => {
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ messages: [] }, ".messages", /at least 1 item/],
    [{ n: 0 }, ".n", /greater than or equal to 1, got 0$/],
    [{ n: 129 }, ".n", /less than or equal to 128/],
    [{ temperature: -0.1 }, ".temperature", /greater than or equal to 0/],
    [{ top_p: 0 }, ".top_p", /greater than 0/],
    [{ top_p: 1.1 }, ".top_p", /less than or equal to 1/],
    [{ top_k: -2 }, ".top_k", /greater than or equal to -1/],
    [{ min_p: 1.5 }, ".min_p", /less than or equal to 1/],
    [{ presence_penalty: 3 }, ".presence_penalty", /less than or equal to 2/],
    [{ frequency_penalty: -3 }, ".frequency_penalty", /greater than or equal to -2/],
    [{ repetition_penalty: 0 }, ".repetition_penalty", /greater than 0/],
    [{ max_tokens: 0 }, ".max_tokens", /greater than or equal to 1, or -1 for no limit/],
    [{ max_completion_tokens: 0 }, ".max_completion_tokens", /greater than or equal to 1/],
    [{ min_tokens: -1 }, ".min_tokens", /greater than or equal to 0/],
    [{ seed: 9.3e18 }, ".seed", /less than or equal to 9223372036854776000/],
    [{ seed: -9.3e18 }, ".seed", /greater than or equal to -9223372036854776000/],
    [{ seed: 1e30 }, ".seed", /exceeded maximum size/],
    [{ truncate_prompt_tokens: -2 }, ".truncate_prompt_tokens", /greater than or equal to -1/],
    [{ truncate_prompt_tokens: 0 }, ".truncate_prompt_tokens", /must be an integer >= 1 or -1, got 0/],
    [{ logprobs: true, top_logprobs: 21 }, ".top_logprobs", /less than or equal to 20/],
    [{ prompt_logprobs: 21 }, ".prompt_logprobs", /less than or equal to 20/],
    [
      { reasoning_effort: "huge" },
      ".reasoning_effort",
      /'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'/,
    ],
    [{ documents: [{ title: "a", text: 5 }] }, ".documents.0.text", /valid string/],
    [
      { chat_template_kwargs: { chat_template: "x" } },
      ".chat_template_kwargs.chat_template",
      /send chat_template as a field/,
    ],
    [{ chat_template_kwargs: { tokenize: false } }, ".chat_template_kwargs.tokenize", /always tokenized/],
    [{ response_format: { type: "yaml" } }, ".response_format.type", /'text', 'json_object'/],
    [{ request_id: "" }, ".request_id", /at least 1 character/],
    [{ stop: "" }, ".stop", /empty string/],
    [{ stop: ["a", ""] }, ".stop.1", /empty string/],
    [{ logit_bias: { x: 1 } }, ".logit_bias.x", /token ids/],
    [{ logit_bias: { 1: "x" } }, ".logit_bias.1", /valid number/],
    [{ logit_bias: { "-1": 1 } }, ".logit_bias.-1", /token ids/],
    [{ allowed_token_ids: [] }, ".allowed_token_ids", /empty/],
    [{ allowed_token_ids: [-1] }, ".allowed_token_ids.0", /greater than or equal to 0/],
    [{ stop_token_ids: [1.5] }, ".stop_token_ids.0", /valid integer/],
    [{ bad_words: ["a", " "] }, ".bad_words.1", /empty or blank/],
    [{ cache_salt: "" }, ".cache_salt", /at least 1 character/],
    [{ tools: [{ type: "code", function: { name: "f" } }] }, ".tools.0.type", /'function'/],
    [{ tools: [{ type: "function" }] }, ".tools.0.function", /Field required/],
    [{ messages: [{ content: "x" }] }, ".messages.0.role", /Field required/],
    [
      { messages: [{ role: "user", content: [{ type: "text" }] }] },
      ".messages.0.content.0.text",
      /Field required/,
    ],
  ];
  for (const [body, place, message] of table) refuses(body, "invalid", [[place, message]]);
});

test("refuses combinations that contradict each other", () => {
  refuses({ continue_final_message: true, add_generation_prompt: true }, "invalid", [
    ["", "Value error, Cannot set both `continue_final_message` and `add_generation_prompt` to True."],
  ]);
  refuses({ top_logprobs: 1 }, "invalid", [["", /`logprobs` must be set to true/]]);
  refuses({ stream_options: { include_usage: true } }, "invalid", [
    ["", /only be defined when `stream=True`/],
  ]);
  for (const count of [0, 1]) {
    refuses({ prompt_logprobs: count, stream: true }, "invalid", [["", /not available when `stream=True`/]]);
  }
  refuses({ min_tokens: 5, max_tokens: 4 }, "invalid", [["", /less than or equal to max_tokens=4, got 5/]]);
  refuses({ vendor_xargs: { a: 1 }, vllm_xargs: { a: 2 } }, "invalid", [[".vllm_xargs", /two spellings/]]);
  reads({ top_logprobs: 0 }, {});
  reads({ prompt_logprobs: 0 }, { output: { promptLogprobCount: 0 } });
  reads({ prompt_logprobs: null, stream: true }, {});
  reads({ stream_options: {} }, {});
});

test("refuses beside a beam search what can change nothing of it, and its penalty where there is none", () => {
  refuses({ length_penalty: 0.5, n: 3 }, "invalid", [[".length_penalty", /set use_beam_search to true/]]);
  const beside: readonly (readonly [string, unknown, RegExp])[] = [
    ["stop", "x", /stop texts cannot end the answers of beam search/],
    ["top_p", 0.9, /top_p cannot change a beam search/],
    ["top_k", 4, /top_k cannot/],
    ["min_p", 0.1, /min_p cannot/],
    ["top_n_sigma", 0.5, /top_n_sigma cannot/],
    ["repetition_penalty", 1.1, /repetition_penalty cannot/],
    ["frequency_penalty", 0.1, /frequency_penalty cannot/],
    ["presence_penalty", -0.1, /presence_penalty cannot/],
    ["logit_bias", { 1: 1 }, /logit_bias cannot/],
    ["logits_processors", ["p"], /logits_processors cannot/],
  ];
  refuses(
    { use_beam_search: true, ...Object.fromEntries(beside) },
    "invalid",
    beside.map(([name, , message]) => [`.${name}`, message]),
  );
});

const tools = [{ type: "function", function: { name: "f" } }];
const named = (name: string) => ({ type: "function", function: { name } });

test("reads which tools may be called, and how many times", () => {
  const table: readonly (readonly [object, ChatRequest["calls"]["choice"]])[] = [
    [{}, undefined],
    [{ tool_choice: null }, undefined],
    [{ tool_choice: "none" }, { kind: "none" }],
    [{ tool_choice: "auto" }, { kind: "auto" }],
    [{ tool_choice: "required" }, { kind: "required" }],
    [{ tool_choice: named("f") }, { kind: "named", name: "f" }],
  ];
  for (const [body, choice] of table) reads({ tools, ...body }, { prompt: { tools }, calls: { choice } });
  for (const choice of ["none", "auto", "required"]) reads({ tools: [], tool_choice: choice }, {});
  reads({ parallel_tool_calls: false }, { calls: { areParallel: false } });
  const { request } = readChatRequest({ messages, response_format: { type: "json_object" } }, limits);
  assert.ok(request.calls.areExempt);
});

test("reads custom tools as functions that take one text, and which tools are allowed", () => {
  const grammar = { syntax: "regex", definition: "a+" };
  const custom = { type: "custom", custom: { name: "c", format: { type: "grammar", grammar } } };
  const parameters = {
    type: "object",
    properties: {
      input: {
        type: "string",
        description: "The whole input, as one text. It matches this regular expression:\na+",
      },
    },
    required: ["input"],
    additionalProperties: false,
  };
  const read = { type: "function", function: { name: "c", parameters } };
  const texts = [{ name: "c", rule: { kind: "regex", pattern: "a+" } }] as const;
  const both = { prompt: { tools: [...tools, read] } };
  const given = [...tools, custom];
  reads({ tools: given }, { ...both, calls: { texts } });
  reads(
    { tools: given, tool_choice: { type: "custom", custom: { name: "c" } } },
    { ...both, calls: { texts, choice: { kind: "named", name: "c" } } },
  );
  const allowed = (mode: string, list: readonly object[]) => ({
    tools: given,
    tool_choice: { type: "allowed_tools", allowed_tools: { mode, tools: list } },
  });
  for (const mode of ["auto", "required"] as const)
    reads(allowed(mode, [named("f")]), { ...both, calls: { texts, choice: { kind: mode, allowed: ["f"] } } });
  reads(allowed("auto", []), { ...both, calls: { texts, choice: { kind: "none" } } });
  const message = {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "1", type: "custom", custom: { name: "c", input: 'a"' } }],
  };
  const called = { name: "c", arguments: '{"input":"a\\""}' };
  reads(
    { messages: [message] },
    { prompt: { messages: [{ ...message, tool_calls: [{ id: "1", type: "function", function: called }] }] } },
  );
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ tools: [{ type: "custom" }] }, ".tools.0.custom", /Field required/],
    [
      { tools: [{ type: "custom", custom: { name: "c", format: { type: "grammar" } } }] },
      ".tools.0.custom.format.grammar",
      /Field required/,
    ],
    [{ tools: [...tools, ...tools] }, ".tools.1.function.name", /Another tool has the name "f" too/],
    [allowed("auto", [named("g")]), ".tool_choice.allowed_tools.tools.0", /"g" is not among the tools/],
    [
      allowed("auto", [{ type: "function" }]),
      ".tool_choice.allowed_tools.tools.0",
      /by its type and its name/,
    ],
    [allowed("required", []), ".tool_choice.allowed_tools.tools", /A tool must be called/],
    [{ tools, tool_choice: { type: "custom" } }, ".tool_choice.custom", /Field required/],
  ];
  for (const [body, place, fault] of table) refuses(body, "invalid", [[place, fault]]);
});

test("refuses a choice among tools that are not there, and of one against a constraint", () => {
  const choices = { structured_outputs: { choice: ["a"] } };
  const table: readonly (readonly [object, string, RegExp])[] = [
    [
      { tools, tool_choice: "any" },
      ".tool_choice",
      /Input should be 'none', 'auto' or 'required', got "any"/,
    ],
    [{ tools, tool_choice: { type: "function" } }, ".tool_choice.function", /Field required/],
    [{ tool_choice: "auto" }, ".tool_choice", /When using `tool_choice`, `tools` must be set/],
    [{ tools: null, tool_choice: named("f") }, ".tool_choice", /`tools` must be set/],
    [
      { tools, tool_choice: named("g") },
      ".tool_choice.function.name",
      /function "g" .* is not among the tools/,
    ],
    [{ tools: [], tool_choice: named("f") }, ".tool_choice.function.name", /is not among the tools/],
    [{ tools, tool_choice: "required", ...choices }, ".tool_choice", /cannot keep structured_outputs too/],
    [{ tools, tool_choice: named("f"), ...choices }, ".tool_choice", /cannot keep structured_outputs too/],
  ];
  for (const [body, place, message] of table) refuses(body, "invalid", [[place, message]]);
});

test("names every fault at once: types, ranges and combinations", () => {
  refuses(
    { temperature: "hot", n: 0, continue_final_message: true, add_generation_prompt: true },
    "invalid",
    [
      [".temperature", /unable to parse string/],
      [".n", /greater than/],
      ["", /Cannot set both/],
    ],
  );
});

test("refuses a body that is no object", () => {
  for (const body of [undefined, null, [], 5, "x"]) {
    assert.throws(
      () => readChatRequest(body, limits),
      (error) => error instanceof ServiceError && error.code === "invalid",
    );
  }
});

test("lists and texts beyond their limits are refused by name, before anything else is looked at", () => {
  const many = (count: number, item: unknown): readonly unknown[] =>
    Array.from({ length: count }, () => item);
  const message = { role: "user", content: "" };
  const tool = { type: "function", function: { name: "f" } };
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ messages: many(4097, message), n: 0 }, ".messages", /4097 items; at most 4096/],
    [{ messages: [{ ...message, content: many(1025, "a") }] }, ".messages.0.content", /at most 1024/],
    [{ messages: [{ ...message, tool_calls: many(1025, {}) }] }, ".messages.0.tool_calls", /at most 1024/],
    [{ tools: many(1025, tool) }, ".tools", /1025 items; at most 1024/],
    [{ stop: many(125_000, "x") }, ".stop", /125000 items; at most 1024/],
    [{ stop: "x".repeat(4097) }, ".stop", /4097 characters; at most 4096/],
    [{ stop: ["y", "x".repeat(4097)] }, ".stop.1", /at most 4096/],
    [{ bad_words: many(1025, "x") }, ".bad_words", /at most 1024/],
    [{ bad_words: many(17, "x".repeat(4000)) }, ".bad_words", /68000 characters together; at most 65536/],
    [{ stop_token_ids: many(65_537, 1) }, ".stop_token_ids", /65537 items; at most 65536/],
    [{ allowed_token_ids: many(65_537, 1) }, ".allowed_token_ids", /65537 items/],
    [
      { logit_bias: Object.fromEntries(many(32_769, 0).map((_, id) => [id, 0])) },
      ".logit_bias",
      /32769 items; at most 32768/,
    ],
  ];
  for (const [body, place, text] of table) refuses(body, "invalid", [[place, text]]);
  const atLimits = { messages: many(4096, message), stop: many(1024, "x".repeat(4096)) };
  assert.equal(messagesOf(atLimits).length, 4096);
});
