// Tests of the conversion of chat requests to the domain's form.
import assert from "node:assert/strict";
import { test } from "node:test";
import { chatRequest } from "../../../inference/chat/testing/chat-request.ts";
import type { ChatRequest } from "../../../base/domain/chat.ts";
import { readChatRequest } from "./read-chat-request.ts";
import { messages, limits, refuses, reads, messagesOf, tools, named } from "./testing/read-under-test.ts";

test("fills in every default of a request with only messages, and a new id", () => {
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

test("treats null as absent on every nullable field, and accepts defaults of unsupported fields", () => {
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

test("refuses null on every field that is not nullable", () => {
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

test("reads every field into its domain field", () => {
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
  // Clients of llama.cpp switch this option off with -1.
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
  // Both keys name token 7, and the last one counts. JavaScript iterates over `7` before `07`.
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

test("prefers a request's field over a template argument of the same name", () => {
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

test("passes messages on unchanged, in all their forms", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const sent = [
    { role: "pirate", content: ["a", { type: "text", text: "b" }, { type: "refusal", refusal: "c" }] },
    { role: "assistant", content: null, tool_calls: [call], refusal: null, reasoning_content: "r" },
    { role: "tool", content: "42", tool_call_id: "c", name: "f", tool_calls: [] },
    { role: "assistant" },
  ];
  assert.deepEqual(messagesOf({ messages: sent }), sent);
});

test("returns the path of each field in the body, under the alias that was sent", () => {
  const placeOf = (body: object, field: string): string | undefined =>
    readChatRequest({ messages, ...body }, limits).fieldPaths[field]?.join(".");
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

test("reads how the answer is sent and written", () => {
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

test("names unknown fields and ignores them", () => {
  assert.deepEqual(
    readChatRequest({ messages, store: true, stream: true, stream_options: { x: 1 } }, limits).ignored,
    ["stream_options.x"],
  );
});

test("reads which tools may be called, and whether several calls are allowed", () => {
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

test("reads custom tools as functions with one text argument, and a list of allowed tools", () => {
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
