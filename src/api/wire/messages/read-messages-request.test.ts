// Tests that requests of the Messages API are read like the equivalent chat requests, and that refusals name the path
// at which the client sent the field.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { httpSettings } from "../../http/settings.ts";
import { parseExactBody } from "../../../base/validation/json-body.ts";
import { readChatRequest } from "../chat/read-chat-request.ts";
import { readCountRequest, readMessagesRequest } from "./read-messages-request.ts";

const limits = httpSettings.with();
const hi = { role: "user", content: "Hi" };
const least = { messages: [hi], max_tokens: 9, request_id: "r" };

/** Checks that a request of the Messages API and a chat request are read as equal requests. */
function same(body: object, chat: object): void {
  const { request } = readMessagesRequest({ ...least, ...body }, limits);
  // The Messages API turns these fields off for any model. Its answers have no fields for tokens, and a model thinks
  // only if the request asks for it.
  const unasked = { logprobs: false, return_token_ids: false, reasoning_effort: "none" };
  assert.deepEqual(request, readChatRequest({ ...least, ...unasked, ...chat }, limits).request);
}

/** Checks that a body is refused with this error code, and with these paths and messages of faults. */
function refuses(body: object, code: string, faults: readonly (readonly [place: string, RegExp])[]): void {
  assert.throws(
    () => readMessagesRequest({ ...least, ...body }, limits),
    (error) => {
      assert.ok(error instanceof ServiceError, String(error));
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

const text = (content: string) => ({ type: "text", text: content });
const user = (...content: readonly object[]) => ({ role: "user", content });
const assistant = (...content: readonly object[]) => ({ role: "assistant", content });
const call = (id: string, input: object = {}) => ({ type: "tool_use", id, name: "f", input });
const result = (id: string, content: unknown = null) => ({ type: "tool_result", tool_use_id: id, content });
const chatCall = (id: string, text = "{}") => ({
  id,
  type: "function",
  function: { name: "f", arguments: text },
});
const returned = (id: string, content: unknown) => ({ role: "tool", tool_call_id: id, content });

test("reads fields with other names like the equivalent fields of a chat request", () => {
  same({}, {});
  same({ stop_sequences: ["a", "b"] }, { stop: ["a", "b"] });
  same({ metadata: { user_id: "u" } }, { user: "u" });
  same(
    { model: "m", temperature: 0.5, top_p: 0.9, top_k: 4, seed: 3 },
    { model: "m", temperature: 0.5, top_p: 0.9, top_k: 4, seed: 3 },
  );
  same({ cache_control: { type: "ephemeral" }, service_tier: "auto", mcp_servers: [] }, {});
  const schema = { type: "object", properties: { a: { type: "integer" } } };
  const format = { type: "json_schema", schema };
  const chat = { response_format: { type: "json_schema", json_schema: { name: "output", schema } } };
  same({ output_config: { format } }, chat);
  same({ output_format: format }, chat);
});

test("puts the system message first, and drops the billing line", () => {
  const first = (content: unknown) => ({ messages: [{ role: "system", content }, hi] });
  same({ system: "Be kind." }, first("Be kind."));
  same({ system: [{ ...text("Be kind."), cache_control: { type: "ephemeral" } }] }, first("Be kind."));
  same({ system: [text("a"), text("b")] }, first([text("a"), text("b")]));
  const bill = text("x-anthropic-billing-header: cc_version=2.1.37.0d9; cch=fa690;");
  same({ system: [bill, text("Be kind.")] }, first("Be kind."));
  for (const system of ["", [], null, [bill]]) same({ system }, {});
});

test("joins the blocks of a turn into one message, and keeps tool results separate", () => {
  const thought = (thinking: string) => ({ type: "thinking", thinking, signature: "s" });
  const table: readonly (readonly [readonly object[], readonly object[]])[] = [
    [
      [user(text("a"), { ...text("b"), cache_control: null })],
      [{ role: "user", content: [text("a"), text("b")] }],
    ],
    // Consecutive messages of the same role become one message.
    [[hi, user(text("a"))], [{ role: "user", content: [text("Hi"), text("a")] }]],
    [
      [
        hi,
        assistant(
          thought("t"),
          { type: "redacted_thinking", data: "x" },
          text("a"),
          call("1", { a: 1 }),
          call("2"),
        ),
        user(result("1", "one"), result("2", [text("t"), text("wo")]), text("and?")),
        assistant(thought("u"), thought("v"), call("3")),
        user(result("3")),
      ],
      [
        hi,
        {
          role: "assistant",
          content: "a",
          reasoning_content: "t",
          tool_calls: [chatCall("1", '{"a":1}'), chatCall("2")],
        },
        returned("1", "one"),
        returned("2", [text("t"), text("wo")]),
        { role: "user", content: "and?" },
        { role: "assistant", content: null, reasoning_content: "u\nv", tool_calls: [chatCall("3")] },
        returned("3", ""),
      ],
    ],
    // System messages remain at their position in the conversation.
    [
      [hi, { role: "system", content: "s" }, { role: "system", content: "t" }, hi],
      [hi, { role: "system", content: "s" }, { role: "system", content: "t" }, hi],
    ],
  ];
  for (const [messages, chat] of table) same({ messages }, { messages: chat });
});

test("continues a last message of the assistant, unless it calls a tool", () => {
  const begun = { role: "assistant", content: "The answer is" };
  same({ messages: [hi, begun] }, { messages: [hi, begun], continue_final_message: true });
  same(
    { messages: [hi, assistant(call("1"))] },
    { messages: [hi, { role: "assistant", content: null, tool_calls: [chatCall("1")] }] },
  );
});

test("keeps the digits of numbers in a call's arguments and in a schema", () => {
  const input = '{"a":1234567890123456789,"b":1.0}';
  const message = `{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"f","input":${input}}]}`;
  const format = '{"type":"json_schema","schema":{"const":1234567890123456789}}';
  const body = `{"max_tokens":1,"output_config":{"format":${format}},"messages":[{"role":"user","content":"x"},${message}]}`;
  const { value, exact } = parseExactBody(Buffer.from(body), { depthMax: 9, valuesMax: 99 });
  const { prompt, constraint } = readMessagesRequest(value, limits, undefined, exact).request;
  assert.ok(prompt.kind === "conversation");
  const [called] = prompt.messages[1]["tool_calls"] as readonly [ReturnType<typeof chatCall>];
  assert.equal(called.function.arguments, input);
  assert.equal(constraint?.kind === "json-schema" && constraint.schema, '{"const":1234567890123456789}');
});

test("reads tools and tool choices, and leaves out tools that a server would have to run", () => {
  const schema = { type: "object", properties: { city: { type: "string" } } };
  const tools = [{ name: "f", description: "d", input_schema: schema, cache_control: { type: "ephemeral" } }];
  const chatTools = [{ type: "function", function: { name: "f", description: "d", parameters: schema } }];
  same({ tools }, { tools: chatTools });
  same({ tools: [{ ...tools[0], type: "custom" }] }, { tools: chatTools });
  same(
    { tools: [{ ...tools[0], strict: true }] },
    { tools: [{ type: "function", function: { ...chatTools[0].function, strict: true } }] },
  );
  for (const [choice, chat] of [
    [{ type: "auto" }, { tool_choice: "auto" }],
    [{ type: "any" }, { tool_choice: "required" }],
    [{ type: "none" }, { tool_choice: "none" }],
    [{ type: "tool", name: "f" }, { tool_choice: { type: "function", function: { name: "f" } } }],
    [
      { type: "any", disable_parallel_tool_use: true },
      { tool_choice: "required", parallel_tool_calls: false },
    ],
  ] as const)
    same({ tools, tool_choice: choice }, { tools: chatTools, ...chat });
  same({ tools: [], tool_choice: { type: "auto" } }, {});
  const search = { type: "web_search_20250305", name: "web_search", max_uses: 3 };
  same({ tools: [search, ...tools] }, { tools: chatTools });
  const { notices } = readMessagesRequest({ ...least, tools: [search] }, limits);
  assert.deepEqual(notices, ["tools that this server does not run are left out: web_search_20250305"]);
  const forced = { tool_choice: { type: "any" } };
  refuses({ ...forced, tools: [search] }, "unsupported", [["tools", /runs none of the tools itself/]]);
  refuses(forced, "unsupported", [["tools", /there are no tools/]]);
});

test("lets a model think only on request, and within its budget", () => {
  const told = { reasoning_effort: null, chat_template_kwargs: { enable_thinking: true } };
  same({ thinking: { type: "disabled" } }, {});
  same({ thinking: { type: "adaptive" } }, told);
  same(
    { thinking: { type: "adaptive", display: "omitted" }, output_config: { effort: "low" } },
    { reasoning_effort: "low", include_reasoning: false },
  );
  same(
    { thinking: { type: "adaptive" }, chat_template_kwargs: { enable_thinking: false, a: 1 } },
    { reasoning_effort: null, chat_template_kwargs: { enable_thinking: false, a: 1 } },
  );
  const own = [{ qualname: "no-repeat-ngram", kwargs: { size: 3 } }];
  const { sampling } = readMessagesRequest(
    { ...least, logits_processors: own, thinking: { type: "enabled", budget_tokens: 1024 } },
    limits,
  ).request;
  assert.deepEqual(sampling.processors, [
    { name: "no-repeat-ngram", args: [], kwargs: { size: 3 } },
    { name: "thinking-budget", args: [1024], kwargs: { optional: true } },
  ]);
});

test("ignores context edits, with a notice", () => {
  const edits = [{ type: "clear_thinking_20251015", keep: "all" }];
  const { notices } = readMessagesRequest({ ...least, context_management: { edits } }, limits);
  assert.deepEqual(notices, ["context_management is not applied: the conversation is used as it was sent"]);
  assert.deepEqual(readMessagesRequest({ ...least, context_management: {} }, limits).notices, []);
  assert.deepEqual(readMessagesRequest({ ...least, inference_geo: "us" }, limits).ignored, ["inference_geo"]);
});

test("refuses images and other unsupported block types, and names their paths", () => {
  const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "" } };
  const document = { type: "document", source: { type: "text", media_type: "text/plain", data: "a" } };
  refuses(
    {
      system: [image],
      messages: [user(text("a"), image), assistant(call("1")), user(result("1", [document]))],
    },
    "unsupported",
    [
      ["system.0.type", /^Blocks of type "image" are not supported.*; text is\. Send its content as text\.$/],
      [
        "messages.0.content.1.type",
        /"image".*; text, thinking, redacted_thinking, tool_use, tool_result are/,
      ],
      ["messages.2.content.0.content.0.type", /"document"/],
    ],
  );
  refuses({ container: "c", mcp_servers: [{}] }, "unsupported", [
    ["container", /container is not supported/],
    ["mcp_servers", /call them from your own program/],
  ]);
});

test("reports faults at the paths and under the names that were sent", () => {
  refuses({ max_tokens: undefined, messages: undefined }, "invalid", [
    ["messages", /required/],
    ["max_tokens", /required/],
  ]);
  refuses({ messages: [] }, "invalid", [["messages", /at least 1/]]);
  refuses({ messages: [user({ type: "text" }, { type: "tool_result" }, call("1"))] }, "invalid", [
    ["messages.0.content.0.text", /required/],
    ["messages.0.content.1.tool_use_id", /required/],
    [
      "messages.0.content.2.type",
      /A tool_use block is allowed only in messages of the assistant, and this one is of the user/,
    ],
  ]);
  refuses(
    {
      tools: [{ name: "f" }, { type: "custom", input_schema: {} }],
      tool_choice: { type: "tool" },
      thinking: { type: "enabled" },
    },
    "invalid",
    [
      ["tools.0.input_schema", /required/],
      ["tools.1.name", /required/],
      ["tool_choice.name", /required/],
      ["thinking.budget_tokens", /required/],
    ],
  );
  refuses({ stop_sequences: ["a", ""] }, "invalid", [["stop_sequences.1", /empty/]]);
  const tool = { name: "f", input_schema: {} };
  refuses({ tools: [tool, tool] }, "invalid", [["tools.1.name", /Another tool has the name "f" too/]]);
  refuses({ tools: [tool], tool_choice: { type: "tool", name: "g" } }, "invalid", [
    ["tool_choice.name", /The function "g" of tool_choice is not among the tools/],
  ]);
  refuses({ top_p: 9 }, "invalid", [["top_p", /less than or equal to 1/]]);
  refuses({ messages: Array.from({ length: 4097 }, () => hi) }, "invalid", [["messages", /at most 4096/]]);
  refuses({ messages: [user(...Array.from({ length: 1025 }, () => text("a")))] }, "invalid", [
    ["messages.0.content", /at most 1024/],
  ]);
});

test("records from which path of the body each part of a chat message came", () => {
  const { origins } = readMessagesRequest(
    {
      ...least,
      system: "s",
      messages: [user(text("a"), text("b")), assistant(call("1")), user(result("1", "c"))],
    },
    limits,
  );
  assert.deepEqual(
    origins.messages.map(({ place, textPaths, callPaths }) =>
      [place, ...textPaths, ...callPaths].map((one) => one.join(".")),
    ),
    [
      ["system", "system"],
      ["messages.0", "messages.0.content.0", "messages.0.content.1"],
      ["messages.1", "messages.1.content.0"],
      ["messages.2.content.0", "messages.2.content.0.content"],
    ],
  );
});

test("reads the prompt to count like that of a message request", () => {
  const body = {
    model: "m",
    system: "s",
    messages: [hi],
    tools: [{ name: "f", input_schema: { type: "object" } }],
    thinking: { type: "enabled", budget_tokens: 2000 },
  };
  const { request, ignored } = readCountRequest({ ...body, max_tokens: 3 }, limits);
  const asked = readMessagesRequest({ ...least, ...body }, limits).request;
  assert.deepEqual(request, { model: "m", prompt: asked.prompt, wantsTexts: false });
  assert.deepEqual(ignored, ["max_tokens"]);
  assert.throws(() => readCountRequest({}, limits), { code: "invalid" });
});
