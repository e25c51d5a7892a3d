// Tests tools over HTTP for a model with `chat.toolCalls` set to `generic`. The chat template of this model does not
// render the tools.
import assert from "node:assert/strict";
import { test } from "node:test";
import { call, serverOfFile } from "./running-server.ts";
import { templated } from "./templated-models.ts";

const server = serverOfFile({ flags: templated });

const model = "hone-tiny";
const parameters = {
  type: "object",
  properties: { city: { enum: ["Paris", "Rome"] }, days: { type: "integer", minimum: 1, maximum: 9 } },
  required: ["city", "days"],
  additionalProperties: false,
};
const tools = [{ type: "function", function: { name: "weather", parameters } }];
const messages = [{ role: "user", content: "What will the weather be?" }];

async function choiceOf(body: object) {
  const answer = await call(server(), "POST", "/v1/chat/completions", {
    body: { model, messages, tools, seed: 3, max_tokens: 200, ...body },
  });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  return answer.body.choices[0] as {
    readonly finish_reason: string;
    readonly message: {
      readonly content: string | null;
      readonly tool_calls?: readonly {
        readonly function: { readonly name: string; readonly arguments: string };
      }[];
    };
  };
}

test("writes the tools into the prompt as text", async () => {
  const { body } = await call(server(), "POST", "/tokenize", { body: { model, messages, tools } });
  const text = await call(server(), "POST", "/detokenize", { body: { model, tokens: body.tokens } });
  assert.match(String(text.body.prompt), /<tools>\n\{"type": "function", "function": \{"name": "weather"/);
});

test("a required call conforms to its schema", async () => {
  const { message, finish_reason: reason } = await choiceOf({ tool_choice: "required", temperature: 2 });
  assert.equal(reason, "tool_calls");
  for (const { function: called } of message.tool_calls ?? assert.fail()) {
    assert.equal(called.name, "weather");
    const { city, days, ...rest } = JSON.parse(called.arguments) as Readonly<Record<string, unknown>>;
    assert.deepEqual(rest, {});
    assert.ok(["Paris", "Rome"].includes(String(city)) && Number(days) >= 1 && Number(days) <= 9);
  }
});

test("an answer that may call tools contains no invalid call", async () => {
  for (const seed of [1, 2, 3]) {
    const { message } = await choiceOf({ seed, temperature: 3, max_tokens: 60 });
    assert.ok(!(message.content ?? "").includes("<tool_call>"), message.content ?? "");
  }
});

test("the model's entry gives the tool-call format and the reason for it", async () => {
  const { body } = await call(server(), "GET", "/v1/models/hone-tiny");
  assert.deepEqual(body.tool_calls, {
    format: "generic",
    reason: "set by chat.toolCalls, and tools are shown in the system message",
  });
});
