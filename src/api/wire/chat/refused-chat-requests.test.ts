// Chat requests that the server must refuse, each with the fault that its error must name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { readChatRequest } from "./read-chat-request.ts";
import { limits, refuses, reads, messagesOf, tools, named } from "./testing/read-under-test.ts";

test("refuses values out of range", () => {
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

test("refuses contradictory combinations", () => {
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

test("refuses sampling options with beam search, and length_penalty without it", () => {
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

test("refuses a tool choice that names a missing tool, and a required call together with a constraint", () => {
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

test("names every fault in one answer: types, ranges and combinations", () => {
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

test("refuses a body that is not an object", () => {
  for (const body of [undefined, null, [], 5, "x"]) {
    assert.throws(
      () => readChatRequest(body, limits),
      (error) => error instanceof ServiceError && error.code === "invalid",
    );
  }
});

test("refuses lists and texts that exceed their limits, by name and before any other check", () => {
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
