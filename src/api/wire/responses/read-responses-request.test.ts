import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { httpSettings } from "../../http/settings.ts";
import { parseExactBody } from "../../../base/validation/json-body.ts";
import { readChatRequest } from "../chat/read-chat-request.ts";
import { readResponsesRequest } from "./read-responses-request.ts";

const limits = httpSettings.with();
const id = { request_id: "r" };

/** Checks that a request of the Responses API and a chat request are read as equal requests. */
function same(body: object, chat: object): void {
  const { request } = readResponsesRequest({ input: "Hi", ...id, ...body }, limits);
  const messages = [{ role: "user", content: "Hi" }];
  // The Responses API turns these off for any model, unless the request asks for them.
  const unasked = { logprobs: false, return_token_ids: false };
  assert.deepEqual(request, readChatRequest({ messages, ...id, ...unasked, ...chat }, limits).request);
}

test("keeps the digits of numbers in a schema", () => {
  const format = '{"type":"json_schema","name":"n","schema":{"const":1234567890123456789}}';
  const body = Buffer.from(`{"input":"Hi","text":{"format":${format}}}`);
  const { value, exact } = parseExactBody(body, { depthMax: 9, valuesMax: 99 });
  const { constraint } = readResponsesRequest(value, limits, undefined, exact).request;
  assert.equal(constraint?.kind === "json-schema" && constraint.schema, '{"const":1234567890123456789}');
});

/** Checks that a body is refused with this error code, and with these paths and messages of faults. */
function refuses(body: object, code: string, faults: readonly (readonly [place: string, RegExp])[]): void {
  assert.throws(
    () => readResponsesRequest({ input: "Hi", ...body }, limits),
    (error) => {
      assert.ok(error instanceof ServiceError);
      assert.equal(error.code, code);
      assert.deepEqual(
        error.faults.map(({ location }) => location.slice(1).join(".")),
        faults.map(([place]) => place),
      );
      for (const [index, { message }] of error.faults.entries()) assert.match(message, faults[index][1]);
      return true;
    },
  );
}

const call = (callId: string, name = "f") => ({
  type: "function_call",
  call_id: callId,
  name,
  arguments: "{}",
});
const chatCall = (callId: string, name = "f") => ({
  id: callId,
  type: "function",
  function: { name, arguments: "{}" },
});
const said = (text: string) => ({
  type: "message",
  id: "msg_1",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text, annotations: [] }],
});
const parts = (text: string) => [{ type: "output_text", text, annotations: [] }];
const thought = (text: string) => ({
  type: "reasoning",
  id: "rs_1",
  summary: [],
  content: [{ type: "reasoning_text", text }],
});

test("reads a text as a user's message, and puts the instructions before it", () => {
  same({}, {});
  same({ instructions: null }, {});
  same(
    { instructions: "Be kind." },
    {
      messages: [
        { role: "system", content: "Be kind." },
        { role: "user", content: "Hi" },
      ],
    },
  );
});

test("joins thoughts, text and calls of one turn into one message", () => {
  const user = { role: "user", content: [{ type: "input_text", text: "Hi" }] };
  const output = (callId: string) => ({ type: "function_call_output", call_id: callId, output: "1" });
  const returned = (callId: string) => ({ role: "tool", tool_call_id: callId, content: "1" });
  const table: readonly (readonly [readonly object[], readonly object[]])[] = [
    [[user], [user]],
    [[{ type: "message", role: "developer", content: "d" }], [{ role: "developer", content: "d" }]],
    [
      [user, thought("t"), said("a"), call("1"), call("2"), output("1"), output("2"), said("b")],
      [
        user,
        {
          role: "assistant",
          content: parts("a"),
          reasoning_content: "t",
          tool_calls: [chatCall("1"), chatCall("2")],
        },
        returned("1"),
        returned("2"),
        { role: "assistant", content: parts("b") },
      ],
    ],
    [
      [user, call("1"), output("1"), thought("t"), call("2"), output("2")],
      [
        user,
        { role: "assistant", content: null, tool_calls: [chatCall("1")] },
        returned("1"),
        { role: "assistant", content: null, reasoning_content: "t", tool_calls: [chatCall("2")] },
        returned("2"),
      ],
    ],
    // A turn has reasoning, then at most one text, then calls. An item out of this order, or a second text, begins
    // another turn.
    [
      [said("a"), said("b"), thought("t"), thought("u"), call("1"), said("c")],
      [
        { role: "assistant", content: parts("a") },
        { role: "assistant", content: parts("b") },
        { role: "assistant", content: null, reasoning_content: "t" },
        { role: "assistant", content: null, reasoning_content: "u", tool_calls: [chatCall("1")] },
        { role: "assistant", content: parts("c") },
      ],
    ],
    // If a reasoning item has no content, its summary becomes the thoughts.
    [
      [
        { type: "reasoning", summary: [{ type: "summary_text", text: "s" }], encrypted_content: "x" },
        said("a"),
      ],
      [{ role: "assistant", content: parts("a"), reasoning_content: "s" }],
    ],
  ];
  for (const [input, messages] of table) {
    const { request } = readResponsesRequest({ input, ...id }, limits);
    assert.equal(request.prompt.kind, "conversation");
    assert.deepEqual(request.prompt.kind === "conversation" && request.prompt.messages, messages);
  }
});

test("reads each field like the equivalent field of a chat request", () => {
  const schema = { type: "object" };
  const parameters = { type: "object", properties: {} };
  const tool = { name: "f", description: "d", parameters, strict: true };
  const tools = [{ type: "function", function: tool }];
  same({ max_output_tokens: 5 }, { max_completion_tokens: 5 });
  same(
    { model: "m", temperature: 0, top_p: 0.5, user: "u", seed: 3 },
    { model: "m", temperature: 0, top_p: 0.5, user: "u", seed: 3 },
  );
  same({ top_k: 4, stop: ["x"], min_p: 0.1 }, { top_k: 4, stop: ["x"], min_p: 0.1 });
  same({ top_n_sigma: 1 }, { top_n_sigma: 1 });
  same({ structured_outputs: { regex: "a" } }, { structured_outputs: { regex: "a" } });
  same({ text: { format: { type: "text" }, verbosity: "medium" } }, { response_format: { type: "text" } });
  same({ text: { format: { type: "json_object" } } }, { response_format: { type: "json_object" } });
  same(
    { text: { format: { type: "json_schema", name: "n", schema, strict: true } } },
    { response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } } },
  );
  same({ tools: [{ type: "function", ...tool }] }, { tools });
  for (const choice of ["none", "auto", "required"])
    same({ tools: [{ type: "function", ...tool }], tool_choice: choice }, { tools, tool_choice: choice });
  same(
    {
      tools: [{ type: "function", ...tool }],
      tool_choice: { type: "function", name: "f" },
      parallel_tool_calls: false,
    },
    { tools, tool_choice: { type: "function", function: { name: "f" } }, parallel_tool_calls: false },
  );
  same({ include: ["message.output_text.logprobs"] }, { logprobs: true });
  same({ top_logprobs: 2 }, { logprobs: true, top_logprobs: 2 });
  same({ stream: true }, { stream: true });
  same({ store: false, metadata: { a: "b" } }, { store: false, metadata: { a: "b" } });
});

test("accepts options that ask for nothing unsupported", () => {
  same(
    {
      background: false,
      previous_response_id: null,
      conversation: null,
      prompt: null,
      context_management: [],
      moderation: null,
      include: ["reasoning.encrypted_content", "web_search_call.action.sources"],
      truncation: "disabled",
      service_tier: "auto",
      stream_options: { include_obfuscation: false },
      max_tool_calls: 3,
      prompt_cache_key: "k",
      safety_identifier: "s",
      reasoning: { summary: "auto" },
      text: {},
    },
    {},
  );
});

test("refuses stored state and tools that a server would run, naming the field", () => {
  const not = /not supported by this server/;
  for (const field of ["previous_response_id", "conversation"])
    refuses({ [field]: "resp_1" }, "unsupported", [[field, not]]);
  refuses({ conversation: { id: "c" } }, "unsupported", [["conversation", not]]);
  refuses({ background: true, prompt: { id: "p" } }, "unsupported", [
    ["background", not],
    ["prompt", not],
  ]);
  refuses({ context_management: [{ type: "compaction" }], moderation: { model: "m" } }, "unsupported", [
    ["context_management", not],
    ["moderation", not],
  ]);
  refuses({ input: [{ type: "item_reference", id: "msg_1" }, { type: "web_search_call" }] }, "unsupported", [
    ["input.0", /send the item itself/],
    ["input.1.type", /Items of type "web_search_call" are not supported.*function_call_output/],
  ]);
  refuses({ tools: [{ type: "web_search" }], tool_choice: { type: "web_search" } }, "unsupported", [
    ["tool_choice.type", not],
  ]);
  for (const choice of [
    "required",
    { type: "allowed_tools", mode: "required", tools: [{ type: "web_search" }] },
  ])
    refuses({ tools: [{ type: "web_search" }], tool_choice: choice }, "unsupported", [
      ["tools", /asks for a call, and this server runs none of the tools/],
    ]);
});

test("ignores unsupported options that the answer does not depend on, with a notice", () => {
  const f = { type: "function", name: "f" };
  const body = {
    input: "Hi",
    tools: [{ type: "web_search" }, f, { type: "mcp", server_label: "x" }, { type: "mcp" }],
    store: true,
    include: ["reasoning.encrypted_content", "something.new"],
    text: { verbosity: "low" },
  };
  const { request, notices, form, origins } = readResponsesRequest(body, limits);
  assert.deepEqual(request.prompt.kind === "conversation" && request.prompt.tools, [
    { type: "function", function: { name: "f" } },
  ]);
  assert.deepEqual(notices, [
    "tools that this server does not run are left out: web_search, mcp",
    "a response cannot be retrieved later: store is answered as false",
    "include has unknown values: something.new",
  ]);
  assert.deepEqual(form.repeated.text, { format: { type: "text" }, verbosity: "low" });
  assert.equal(form.repeated.tools.length, 4);
  assert.deepEqual(origins.tools, [1]);
  assert.equal(request.recording.isWanted, true);
  // If the model sees no tool, the tool choice has no effect.
  same({ tools: [{ type: "web_search" }], tool_choice: "auto" }, {});
  const twice = [{ type: "web_search" }, f, f];
  refuses({ tools: twice }, "invalid", [["tools.2.name", /Another tool has the name/]]);
});

test("reads custom tools and allowed tools like the equivalent fields of a chat request", () => {
  const format = { type: "grammar", syntax: "lark", definition: 'start: "a"' };
  const tools = [
    { type: "custom", name: "c", description: "d", format },
    { type: "function", name: "f" },
  ];
  const grammar = { syntax: "lark", definition: 'start: "a"' };
  const custom = { name: "c", description: "d", format: { type: "grammar", grammar } };
  const chatTools = [
    { type: "custom", custom },
    { type: "function", function: { name: "f" } },
  ];
  same({ tools }, { tools: chatTools });
  same(
    { tools, tool_choice: { type: "custom", name: "c" } },
    { tools: chatTools, tool_choice: { type: "custom", custom: { name: "c" } } },
  );
  const allowed = [{ type: "custom", name: "c" }, { type: "image_generation" }];
  const chatAllowed = { mode: "required", tools: [{ type: "custom", custom: { name: "c" } }] };
  same(
    { tools, tool_choice: { type: "allowed_tools", mode: "required", tools: allowed } },
    { tools: chatTools, tool_choice: { type: "allowed_tools", allowed_tools: chatAllowed } },
  );
  const input = [
    { role: "user", content: "Hi" },
    { type: "custom_tool_call", call_id: "1", name: "c", input: "a" },
    { type: "custom_tool_call_output", call_id: "1", output: "done" },
  ];
  const custom1 = { id: "1", type: "custom", custom: { name: "c", input: "a" } };
  same(
    { input },
    {
      messages: [
        { role: "user", content: "Hi" },
        { role: "assistant", content: null, tool_calls: [custom1] },
        { role: "tool", tool_call_id: "1", content: "done" },
      ],
    },
  );
  refuses(
    { tools: [{ type: "custom" }, { type: "custom", name: "c", format: { type: "grammar" } }] },
    "invalid",
    [
      ["tools.0.name", /Field required/],
      ["tools.1.format.syntax", /Field required/],
      ["tools.1.format.definition", /Field required/],
    ],
  );
  refuses({ tools: [{ type: "custom", name: "c", format: { ...format, syntax: "gbnf" } }] }, "invalid", [
    ["tools.0.format.syntax", /'lark' or 'regex'/],
  ]);
  refuses({ input: [{ type: "custom_tool_call", call_id: "1" }] }, "invalid", [
    ["input.0.name", /Field required/],
    ["input.0.input", /Field required/],
  ]);
});

test("reports missing and invalid values at the paths that were sent", () => {
  refuses({ input: undefined }, "invalid", [["input", /Field required/]]);
  refuses({ input: [] }, "invalid", [["input", /at least 1 item/]]);
  refuses(
    {
      input: [
        { role: "user" },
        { content: "x" },
        { type: "function_call" },
        { type: "function_call_output" },
      ],
    },
    "invalid",
    [
      ["input.0.content", /Field required/],
      ["input.1.role", /Field required/],
      ["input.2.call_id", /Field required/],
      ["input.2.name", /Field required/],
      ["input.2.arguments", /Field required/],
      ["input.3.call_id", /Field required/],
      ["input.3.output", /Field required/],
    ],
  );
  refuses(
    { instructions: "i", input: [call("1"), { role: "user", content: [{ type: "input_text" }] }] },
    "invalid",
    [["input.1.content.0.text", /Field required/]],
  );
  refuses({ tools: [{ type: "function" }], tool_choice: { type: "function" } }, "invalid", [
    ["tools.0.name", /Field required/],
    ["tool_choice.name", /Field required/],
  ]);
  refuses({ text: { format: { type: "json_schema" } } }, "invalid", [
    ["text.format.name", /Field required/],
    ["text.format.schema", /Field required/],
  ]);
  refuses(
    { tools: [{ type: "function", name: "f" }], tool_choice: { type: "function", name: "g" } },
    "invalid",
    [["tool_choice.name", /not among the tools/]],
  );
  refuses({ text: { format: { type: "json_object" } }, structured_outputs: { regex: "a" } }, "invalid", [
    ["text.format", /multiple are specified/],
  ]);
  refuses({ max_output_tokens: 0, top_p: 2, metadata: { a: 1 } }, "invalid", [
    ["top_p", /less than or equal to 1/],
    ["metadata.a", /valid string/],
    ["max_output_tokens", /greater than or equal to 1, or -1 for no limit/],
  ]);
});

test("refuses long lists before it checks their items", () => {
  const many = (count: number, value: object) => Array.from({ length: count }, () => value);
  refuses({ input: many(4097, { role: "user" }) }, "invalid", [["input", /4097 items; at most 4096/]]);
  refuses({ tools: many(1025, {}) }, "invalid", [["tools", /1025 items; at most 1024/]]);
});

test("locates fields where the client sent them, and names unknown fields", () => {
  const { fieldPaths, ignored } = readResponsesRequest({ input: "Hi", nothing: 1, text: { x: 1 } }, limits);
  assert.deepEqual(fieldPaths["stopping.maxTokens"], ["body", "max_output_tokens"]);
  assert.deepEqual(fieldPaths["constraint"], ["body", "structured_outputs"]);
  assert.deepEqual(fieldPaths["model"], ["body", "model"]);
  const held = { input: "Hi", text: { format: { type: "json_object" } }, reasoning: { effort: "low" } };
  assert.deepEqual(readResponsesRequest(held, limits).fieldPaths["constraint"], ["body", "text", "format"]);
  assert.deepEqual(ignored, ["nothing", "text.x"]);
});

test("repeats the request's fields in the answer", () => {
  const tool = { type: "function", name: "f", parameters: null };
  const sent = { tools: [tool], tool_choice: "auto", metadata: { a: "b" }, temperature: 0, user: "u" };
  const { form } = readResponsesRequest({ input: "Hi", instructions: "i", stream: true, ...sent }, limits);
  assert.deepEqual(form, {
    isStream: true,
    repeated: {
      instructions: "i",
      max_output_tokens: null,
      metadata: { a: "b" },
      parallel_tool_calls: true,
      reasoning: { effort: null, summary: null },
      temperature: 0,
      text: { format: { type: "text" }, verbosity: "medium" },
      tool_choice: "auto",
      tools: [{ ...tool, description: null, strict: false }],
      top_logprobs: 0,
      top_p: null,
      truncation: "disabled",
      user: "u",
    },
  });
});
