import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChatRequest } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { readChatRequest } from "./read-chat-request.ts";

const messages = [{ role: "user", content: "Hi" }];

function refuses(
  body: object,
  code: "invalid" | "unsupported",
  faults: readonly (readonly [string, string | RegExp])[],
) {
  assert.throws(
    () => readChatRequest({ messages, ...body }),
    (error) => {
      assert.ok(error instanceof ServiceError, String(error));
      assert.equal(error.code, code, error.message);
      assert.deepEqual(
        error.faults.map(({ location }) => location.join(".")),
        faults.map(([place]) => `body${place}`),
      );
      faults.forEach(([, message], index) => {
        const said = error.faults[index]?.message ?? "";
        if (message instanceof RegExp) assert.match(said, message);
        else assert.equal(said, message);
      });
      return true;
    },
  );
}

function reads(body: object, expected: Partial<ChatRequest>): void {
  const { request } = readChatRequest({ messages, ...body });
  for (const [field, value] of Object.entries(expected)) {
    assert.deepEqual(request[field as keyof ChatRequest], value, field);
  }
}

test("a request with messages alone has every default", () => {
  const { request, form, ignored } = readChatRequest({ messages });
  assert.match(request.requestId, /^[0-9a-f-]{36}$/);
  assert.deepEqual(
    { ...request, requestId: "" },
    {
      messages,
      model: null,
      requestId: "",
      choiceCount: 1,
      maxTokens: null,
      temperature: null,
      topP: null,
      topK: null,
      seed: null,
      stop: [],
      logprobs: undefined,
      returnTokenIds: undefined,
      addGenerationPrompt: true,
      continueFinalMessage: false,
      tools: null,
    },
  );
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
  reads(Object.fromEntries(nullable.map((name) => [name, null])), {
    choiceCount: 1,
    addGenerationPrompt: true,
  });
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
      include_stop_str_in_output: false,
      ignore_eos: false,
      min_tokens: 0,
      skip_special_tokens: true,
      spaces_between_special_tokens: true,
      bad_words: [],
      echo: false,
      add_special_tokens: false,
      documents: [],
      chat_template_kwargs: {},
      structured_outputs: {},
      priority: 0,
      logits_processors: [],
      vendor_xargs: {},
      tool_choice: "none",
      mm_processor_kwargs: { a: 1 },
      parallel_tool_calls: false,
      user: "me",
    },
    { choiceCount: 1 },
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

test("reads what is served", () => {
  reads(
    { model: "m", n: 128, temperature: 0, top_p: 1, top_k: 5, seed: -(2 ** 63), request_id: "r" },
    {
      model: "m",
      choiceCount: 128,
      temperature: 0,
      topP: 1,
      topK: 5,
      seed: -(2 ** 63),
      requestId: "r",
    },
  );
  reads({ top_k: -1, stop: "a" }, { topK: 0, stop: ["a"] });
  reads({ stop: ["a", "b"], max_tokens: 1 }, { stop: ["a", "b"], maxTokens: 1 });
  reads({ max_tokens: 1, max_completion_tokens: 2 }, { maxTokens: 2 });
  reads({ logprobs: true }, { logprobs: { topCount: 0 } });
  reads({ logprobs: true, top_logprobs: 20 }, { logprobs: { topCount: 20 } });
  reads({ logprobs: false, return_token_ids: false }, { logprobs: null, returnTokenIds: false });
  reads({ continue_final_message: true }, { continueFinalMessage: true, addGenerationPrompt: false });
  reads({ continue_final_message: true, add_generation_prompt: false }, { addGenerationPrompt: false });
  const tool = { type: "function", function: { name: "f", other: 1 } };
  reads({ tools: [tool] }, { tools: [tool] });
  reads({ tools: [] }, { tools: null });
});

test("passes messages on as they were sent, in all their forms", () => {
  const call = { id: "c", type: "function", function: { name: "f", arguments: "{}" } };
  const sent = [
    { role: "pirate", content: ["a", { type: "text", text: "b" }, { type: "refusal", refusal: "c" }] },
    { role: "assistant", content: null, tool_calls: [call], refusal: null, reasoning_content: "r" },
    { role: "tool", content: "42", tool_call_id: "c", name: "f", tool_calls: [] },
    { role: "assistant" },
  ];
  assert.deepEqual(readChatRequest({ messages: sent }).request.messages, sent);
});

test("reads how to answer", () => {
  const form = (body: object): object => readChatRequest({ messages, stream: true, ...body }).form;
  const base = { isStream: true, includesUsage: false, usageInEveryChunk: false, tokensAsIds: false };
  assert.deepEqual(form({}), base);
  assert.deepEqual(form({ stream_options: {} }), { ...base, includesUsage: true });
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
    readChatRequest({ messages, store: true, stream: true, stream_options: { x: 1 } }).ignored,
    ["store", "stream_options.x"],
  );
});

test("refuses what is out of range", () => {
  const table: readonly (readonly [object, string, RegExp])[] = [
    [{ messages: [] }, ".messages", /at least 1 item/],
    [{ n: 0 }, ".n", /greater than or equal to 1, got 0$/],
    [{ n: 129 }, ".n", /less than or equal to 128/],
    [{ temperature: -0.1 }, ".temperature", /greater than or equal to 0/],
    [{ temperature: 2.1 }, ".temperature", /less than or equal to 2/],
    [{ top_p: 0 }, ".top_p", /greater than 0/],
    [{ top_p: 1.1 }, ".top_p", /less than or equal to 1/],
    [{ top_k: -2 }, ".top_k", /greater than or equal to -1/],
    [{ min_p: 1.5 }, ".min_p", /less than or equal to 1/],
    [{ presence_penalty: 3 }, ".presence_penalty", /less than or equal to 2/],
    [{ frequency_penalty: -3 }, ".frequency_penalty", /greater than or equal to -2/],
    [{ repetition_penalty: 0 }, ".repetition_penalty", /greater than 0/],
    [{ max_tokens: 0 }, ".max_tokens", /greater than or equal to 1/],
    [{ max_completion_tokens: 0 }, ".max_completion_tokens", /greater than or equal to 1/],
    [{ min_tokens: -1 }, ".min_tokens", /greater than or equal to 0/],
    [{ seed: 9.3e18 }, ".seed", /less than or equal to 9223372036854776000/],
    [{ seed: -9.3e18 }, ".seed", /greater than or equal to -9223372036854776000/],
    [{ seed: 1e30 }, ".seed", /exceeded maximum size/],
    [{ truncate_prompt_tokens: -2 }, ".truncate_prompt_tokens", /greater than or equal to -1/],
    [{ truncate_prompt_tokens: 0 }, ".truncate_prompt_tokens", /must be an integer >= 1 or -1, got 0/],
    [{ logprobs: true, top_logprobs: 21 }, ".top_logprobs", /less than or equal to 20/],
    [{ tool_choice: "auto" }, ".tool_choice", /Input should be 'none'/],
    [{ tool_choice: { type: "function" } }, ".tool_choice", /Input should be 'none'/],
    [{ reasoning_effort: "huge" }, ".reasoning_effort", /'low', 'medium' or 'high'/],
    [{ response_format: { type: "yaml" } }, ".response_format.type", /'text', 'json_object'/],
    [{ request_id: "" }, ".request_id", /at least 1 character/],
    [{ stop: "" }, ".stop", /empty string/],
    [{ stop: ["a", ""] }, ".stop.1", /empty string/],
    [{ logit_bias: { x: 1 } }, ".logit_bias.x", /token ids/],
    [{ logit_bias: { 1: "x" } }, ".logit_bias.1", /valid number/],
    [{ allowed_token_ids: [] }, ".allowed_token_ids", /empty/],
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
  refuses({ prompt_logprobs: 1, stream: true }, "invalid", [["", /not available when `stream=True`/]]);
  refuses({ min_tokens: 5, max_tokens: 4 }, "invalid", [["", /less than or equal to max_tokens=4, got 5/]]);
  refuses({ structured_outputs: { regex: "a", json: {} } }, "invalid", [
    [".structured_outputs", /only use one kind/],
  ]);
  refuses({ structured_outputs: { regex: "a" }, response_format: { type: "json_object" } }, "invalid", [
    [".response_format", /only use one kind/],
  ]);
  refuses({ response_format: { type: "json_schema" } }, "invalid", [
    [".response_format", /must be provided/],
  ]);
  refuses({ vendor_xargs: { a: 1 }, vllm_xargs: { a: 2 } }, "invalid", [[".vllm_xargs", /two spellings/]]);
  reads({ top_logprobs: 0 }, { logprobs: undefined });
  reads({ stream_options: {} }, { choiceCount: 1 });
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

test("refuses every known option that is not served, by name, all at once", () => {
  const asked = {
    frequency_penalty: 1,
    presence_penalty: 1,
    repetition_penalty: 1.1,
    min_p: 0.1,
    logit_bias: { 1: 1 },
    response_format: { type: "json_object" },
    reasoning_effort: "low",
    include_reasoning: false,
    use_beam_search: true,
    length_penalty: 2,
    stop_token_ids: [1],
    include_stop_str_in_output: true,
    ignore_eos: true,
    min_tokens: 1,
    skip_special_tokens: false,
    spaces_between_special_tokens: false,
    truncate_prompt_tokens: 5,
    prompt_logprobs: 0,
    allowed_token_ids: [1],
    bad_words: ["x"],
    echo: true,
    add_special_tokens: true,
    documents: [{ text: "x" }],
    chat_template: "x",
    chat_template_kwargs: { a: 1 },
    logits_processors: ["p"],
    cache_salt: "s",
    kv_transfer_params: { a: 1 },
    vendor_xargs: { a: 1 },
  };
  refuses(
    asked,
    "unsupported",
    Object.keys(asked).map((name) => [`.${name}`, /is not supported/]),
  );
  refuses({ structured_outputs: { choice: ["a"] } }, "unsupported", [
    [".structured_outputs", /not supported/],
  ]);
  refuses({ vllm_xargs: { a: 1 } }, "unsupported", [[".vllm_xargs", /not supported/]]);
  refuses({ priority: 3 }, "unsupported", [[".priority", /priority is not supported/]]);
});

test("refuses media, naming the part", () => {
  const content = [
    { type: "text", text: "see" },
    { type: "image_url", image_url: { url: "x" } },
    { type: "new" },
  ];
  refuses({ messages: [{ role: "user", content }] }, "unsupported", [
    [".messages.0.content.1", /image_url/],
    [".messages.0.content.2", /new/],
  ]);
});

test("refuses a body that is no object", () => {
  for (const body of [undefined, null, [], 5, "x"]) {
    assert.throws(
      () => readChatRequest(body),
      (error) => error instanceof ServiceError && error.code === "invalid",
    );
  }
});
