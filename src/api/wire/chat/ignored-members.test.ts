// Tests for all requests that are converted to chat requests. Ignored members are named at any depth, and known options
// are accepted under the names that other servers give them.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConstraintRule } from "../../../base/domain/constraint.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { httpSettings } from "../../http/settings.ts";
import { readCompletion } from "../completions/read-completion.ts";
import { readCountRequest, readMessagesRequest } from "../messages/read-messages-request.ts";
import { readResponsesRequest } from "../responses/read-responses-request.ts";
import { readTokenization } from "../tokenize/read-tokenization.ts";
import { readChatRequest } from "./read-chat-request.ts";

const limits = httpSettings.with();
const messages = [{ role: "user", content: "hi" }];
const chat = (body: object) => readChatRequest({ messages, ...body }, limits);
const schema = { type: "object", properties: { a: { const: 1 } } };

function names(body: object, expected: readonly string[]): void {
  assert.deepEqual(chat(body).ignored, expected, JSON.stringify(body));
}

test("names unknown members of a chat request at every depth, including those that a chat template may show", () => {
  names({ response_format: { type: "text", yyy: 1 } }, ["response_format.yyy"]);
  names({ response_format: { type: "json_schema", json_schema: { name: "n", schema, strickt: true } } }, [
    "response_format.json_schema.strickt",
  ]);
  names({ response_format: { type: "text", schema } }, ["response_format.schema"]);
  names({ response_format: { type: "json_object", grammar: "root ::= x" } }, ["response_format.grammar"]);
  const called = { name: "f", parameters: {}, inputSchema: schema };
  names({ tools: [{ type: "function", function: called, cache: 1 }] }, [
    "tools.0.function.inputSchema",
    "tools.0.cache",
  ]);
  names({ tools: [{ type: "custom", custom: { name: "f", format: { type: "text", x: 1 }, y: 1 } }] }, [
    "tools.0.custom.format.x",
    "tools.0.custom.y",
  ]);
  const tools = [{ type: "function", function: { name: "f" } }];
  names({ tools, tool_choice: { type: "function", function: { name: "f", x: 1 }, y: 1 } }, [
    "tool_choice.function.x",
    "tool_choice.y",
  ]);
  names(
    { messages: [{ role: "user", content: [{ type: "text", text: "a", cache_control: {} }], stamp: 1 }] },
    ["messages.0.content.0.cache_control", "messages.0.stamp"],
  );
  const call = { id: "1", type: "function", function: { name: "f", arguments: "{}", parsed: {} }, extra: 1 };
  names({ messages: [...messages, { role: "assistant", content: null, tool_calls: [call] }, messages[0]] }, [
    "messages.1.tool_calls.0.function.parsed",
    "messages.1.tool_calls.0.extra",
  ]);
  names({ stream: true, stream_options: { include_usage: true, x: 1 } }, ["stream_options.x"]);
  names({ kv_transfer_params: { do_remote_decode: false, x: 1 } }, ["kv_transfer_params.x"]);
});

test("names an unknown member only at the first item of a list that has it, and does not name null members", () => {
  const stamped = { role: "user", content: "hi", stamp: 1 };
  names({ messages: [messages[0], stamped, stamped, { ...stamped, other: 2 }] }, [
    "messages.1.stamp",
    "messages.3.other",
  ]);
  names(
    { messages: [{ role: "assistant", content: "a", audio: null, function_call: null }, messages[0]] },
    [],
  );
});

test("does not name the members of returned messages, schemas and template arguments", () => {
  const call = { id: "1", type: "function", index: 0, function: { name: "f", arguments: '{"a": 1}' } };
  const answer = {
    role: "assistant",
    content: null,
    reasoning: "r",
    reasoning_content: "r",
    refusal: null,
    annotations: [],
    tool_calls: [call],
  };
  names({ messages: [messages[0], answer, { role: "tool", tool_call_id: "1", content: "x" }] }, []);
  names(
    {
      tools: [
        { type: "function", function: { name: "f", description: "d", parameters: schema, strict: true } },
      ],
    },
    [],
  );
  names({ chat_template_kwargs: { anything: { at: "all" } } }, []);
  names({ response_format: { type: "json_object", schema: { anything: 1 } } }, []);
  const tag = { type: "structural_tag", structures: [], triggers: ["<"] };
  names({ response_format: tag }, []);
});

test("names ignored members of the other APIs' requests by the paths that those requests use", () => {
  const completion = readCompletion({ prompt: "p", response_format: { type: "text", yyy: 1 } }, limits);
  assert.deepEqual(completion.ignored, ["response_format.yyy"]);
  const input = [
    { role: "user", content: [{ type: "input_text", text: "hi", zzz: 1 }], stamp: 1 },
    {
      type: "message",
      id: "m",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "a", annotations: [], logprobs: [] }],
    },
  ];
  const response = readResponsesRequest(
    {
      input,
      tools: [{ type: "function", name: "f", inputSchema: schema }],
      text: { format: { type: "text", yyy: 1 } },
      structured_outputs: { qqq: 1 },
    },
    limits,
  );
  assert.deepEqual(response.ignored, [
    "input.0.content.0.zzz",
    "input.0.stamp",
    "tools.0.inputSchema",
    "text.format.yyy",
    "structured_outputs.qqq",
  ]);
  const asked = {
    messages: [{ role: "user", content: [{ type: "text", text: "hi", zzz: 1 }], stamp: 1 }],
    tools: [{ name: "f", input_schema: {}, inputSchema: schema }],
    thinking: { type: "disabled", xxx: 1 },
  };
  const expected = ["messages.0.content.0.zzz", "messages.0.stamp", "tools.0.inputSchema", "thinking.xxx"];
  const message = readMessagesRequest(
    { ...asked, max_tokens: 5, structured_outputs: { regex: "a", qqq: 1 } },
    limits,
  );
  assert.deepEqual(message.ignored, [...expected, "structured_outputs.qqq"]);
  assert.deepEqual(readCountRequest(asked, limits).ignored, expected);
  const tokenized = readTokenization({ messages: [{ ...messages[0], stamp: 1 }] }, limits);
  assert.deepEqual(tokenized.ignored, ["messages.0.stamp"]);
});

test("accepts a schema in any field in which another server accepts it", () => {
  const held: ConstraintRule = { kind: "json-schema", schema: JSON.stringify(schema) };
  const formats: readonly (readonly [object, ConstraintRule])[] = [
    [{ type: "json_object", schema }, held],
    [{ type: "json_schema", schema }, held],
    [{ type: "json_object", json_schema: { name: "n", schema } }, held],
    [{ type: "json_object", value: schema }, held],
    [{ type: "json", value: schema }, held],
    [{ type: "json" }, { kind: "json-object" }],
    [{ type: "json_object", schema: null }, { kind: "json-object" }],
    [
      { type: "json_object", schema: {} },
      { kind: "json-schema", schema: "{}" },
    ],
    [
      { type: "regex", value: "a+" },
      { kind: "regex", pattern: "a+" },
    ],
    [
      { type: "grammar", grammar: 'root ::= "a"' },
      { kind: "grammar", text: 'root ::= "a"' },
    ],
  ];
  for (const [format, rule] of formats) {
    for (const { request, ignored } of [
      chat({ response_format: format }),
      chat({ response_format: format, stream: true }),
    ]) {
      const {
        allowsAnyWhitespace: _a,
        whitespacePattern: _b,
        allowsAdditionalProperties: _c,
        ...read
      } = request.constraint ?? assert.fail(JSON.stringify(format));
      assert.deepEqual(read, rule);
      assert.deepEqual(ignored, []);
    }
    const [completion] = readCompletion({ prompt: "p", response_format: format }, limits).requests;
    assert.equal(completion.constraint?.kind, rule.kind);
  }
  const response = readResponsesRequest(
    { input: "hi", text: { format: { type: "json_object", schema } } },
    limits,
  );
  assert.equal(response.request.constraint?.kind, "json-schema");
});

test("refuses an incomplete format, or one with two schemas", () => {
  const unserved = (format: object, place: string) =>
    assert.deepEqual(
      chat({ response_format: format }).request.unserved.map(({ location }) => location.join(".")),
      [place],
    );
  unserved({ type: "json_schema" }, "body.response_format.json_schema");
  unserved({ type: "json_schema", json_schema: { name: "n" } }, "body.response_format.json_schema.schema");
  unserved({ type: "regex" }, "body.response_format.value");
  unserved({ type: "json_object", value: "x" }, "body.response_format.value");
  unserved({ type: "grammar" }, "body.response_format.grammar");
  assert.throws(
    () => chat({ response_format: { type: "json_object", schema, value: {} } }),
    (error) => {
      assert.ok(error instanceof ServiceError);
      return error.code === "invalid" && /several schemas, in schema and value/.test(error.message);
    },
  );
});

test("reads -1 as no token limit, and refuses any other number below 1", () => {
  assert.equal(chat({ max_tokens: -1 }).request.stopping.maxTokens, Infinity);
  assert.equal(chat({ max_completion_tokens: -1, max_tokens: 5 }).request.stopping.maxTokens, Infinity);
  assert.equal(chat({ max_tokens: -1, min_tokens: 5 }).request.stopping.maxTokens, Infinity);
  assert.equal(chat({ max_tokens: 7 }).request.stopping.maxTokens, 7);
  assert.equal(chat({}).request.stopping.maxTokens, null);
  const [completion] = readCompletion({ prompt: "p", max_tokens: -1 }, limits).requests;
  assert.equal(completion.stopping.maxTokens, Infinity);
  const response = readResponsesRequest({ input: "hi", max_output_tokens: -1 }, limits);
  assert.equal(response.request.stopping.maxTokens, Infinity);
  assert.equal(response.form.repeated.max_output_tokens, null);
  for (const wrong of [0, -2, 1.5])
    for (const field of ["max_tokens", "max_completion_tokens"])
      assert.throws(() => chat({ [field]: wrong }), { code: "invalid" });
  assert.throws(() => readCompletion({ prompt: "p", max_tokens: -2 }, limits), { code: "invalid" });
});
