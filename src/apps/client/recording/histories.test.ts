import assert from "node:assert/strict";
import { test } from "node:test";
import { historiesOf, withSampledTokens } from "./histories.ts";
import type { JsonObject } from "./model-request.ts";

const user = (content: unknown): JsonObject => ({ role: "user", content });
const said = (content: string | null, more: JsonObject = {}): JsonObject => ({
  role: "assistant",
  content,
  ...more,
});
const choice = (message: JsonObject): JsonObject => ({ finish_reason: "stop", message, token_ids: [1] });
const called = (name: string, written: string, id = "c"): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: written },
});

/** Converts calls, given as messages and answers, to histories, and compares the texts of their items. */
function check(
  calls: readonly {
    readonly asked: readonly JsonObject[];
    readonly answers: readonly JsonObject[];
    readonly more?: JsonObject;
  }[],
  expected: readonly (readonly string[])[],
): void {
  const histories = historiesOf(
    calls.map(({ asked, answers, more }) => ({
      request: { messages: asked, ...more },
      choices: answers.map(choice),
    })),
  );
  const shown = ({ message, ...item }: JsonObject): string => {
    const { role, content } = (message ?? item) as JsonObject;
    return `${message === undefined ? String(role) : "choice"}: ${String(content)}`;
  };
  assert.deepEqual(
    histories.map(({ items }) => items.map(shown)),
    expected,
  );
}

test("appends a call that continues an answer as a further turn of its history", () => {
  check(
    [
      { asked: [user("a")], answers: [said("b")] },
      { asked: [user("a"), said("b"), user("c")], answers: [said("d")] },
      { asked: [user("a"), said("b"), user("c"), said("d"), user("e")], answers: [said("f")] },
    ],
    [["user: a", "choice: b", "user: c", "choice: d", "user: e", "choice: f"]],
  );
});

test("recognizes a returned answer in the forms that different libraries send", () => {
  const answer = said(null, {
    tool_calls: [called("look", '{"a":1,"b":[2]}')],
    reasoning: "hm",
    refusal: null,
  });
  const spelled: readonly JsonObject[] = [
    answer,
    said("", { tool_calls: [called("look", '{ "b": [2], "a": 1 }', "other")] }),
    { role: "assistant", content: [], tool_calls: [called("look", '{"a":1,"b":[2]}')] },
  ];
  for (const one of spelled)
    check(
      [
        { asked: [user([{ type: "text", text: "a" }])], answers: [answer] },
        { asked: [user("a"), one, { role: "tool", tool_call_id: "c", content: "1" }], answers: [said("d")] },
      ],
      [["user: [object Object]", "choice: null", "tool: 1", "choice: d"]],
    );
});

test("starts a new history for a call that continues none, and trains on its earlier answers only once", () => {
  check(
    [
      { asked: [user("a")], answers: [said("b")] },
      { asked: [user("a"), said("b"), user("c")], answers: [said("d")] },
      { asked: [user("a"), said("b"), user("other")], answers: [said("e")] },
      { asked: [user("a"), said("changed"), user("c")], answers: [said("f")] },
      { asked: [user("a")], answers: [said("g")] },
    ],
    [
      ["user: a", "choice: b", "user: c", "choice: d"],
      ["user: a", "assistant: b", "user: other", "choice: e"],
      ["user: a", "assistant: changed", "user: c", "choice: f"],
      ["user: a", "choice: g"],
    ],
  );
});

test("continues from any of the answers that a call returned", () => {
  check(
    [
      { asked: [user("a")], answers: [said("b"), said("c")] },
      { asked: [user("a"), said("c"), user("d")], answers: [said("e")] },
    ],
    [
      ["user: a", "choice: b"],
      ["user: a", "choice: c", "user: d", "choice: e"],
    ],
  );
});

test("starts a new history if the tools differ, and keeps the request's prompt options in the Choice", () => {
  const tools = [{ type: "function", function: { name: "look" } }];
  const calls = [
    { asked: [user("a")], answers: [said("b")], more: { tools } },
    { asked: [user("a"), said("b"), user("c")], answers: [said("d")], more: { tools: [] } },
  ];
  check(calls, [
    ["user: a", "choice: b"],
    ["user: a", "assistant: b", "user: c", "choice: d"],
  ]);
  const [history] = historiesOf([
    {
      request: {
        messages: [user("a")],
        tools,
        chat_template_kwargs: { enable_thinking: false },
        temperature: 1,
      },
      choices: [choice(said("b"))],
    },
  ]);
  assert.deepEqual(history?.tools, tools);
  assert.deepEqual(history?.items[1], {
    chat_template_kwargs: { enable_thinking: false },
    ...choice(said("b")),
  });
});

test("sends the exact tokens only of the last answer that a request returns", () => {
  const exact = (content: string, ids: readonly number[], prompt: readonly number[]): JsonObject => ({
    finish_reason: "stop",
    message: said(content),
    token_ids: ids,
    prompt_token_ids: prompt,
  });
  const calls = [
    { request: { messages: [user("a")] }, choices: [exact("b", [2], [1]), exact("c", [3], [1])] },
    { request: { messages: [user("a"), said("b"), user("d")] }, choices: [exact("e", [5], [1, 2, 4])] },
  ];
  const tokensIn = (messages: readonly JsonObject[], more: JsonObject = {}) => {
    const sent = withSampledTokens({ messages, ...more }, calls)["messages"] as readonly JsonObject[];
    return sent.map(({ token_ids: own, prompt_token_ids: prompt }) => own && [prompt, own]);
  };
  const [a, d, f] = [user("a"), user("d"), user("f")];
  assert.deepEqual(tokensIn([a, said("c"), d]), [undefined, [[1], [3]], undefined]);
  assert.deepEqual(tokensIn([a, said("b"), d, said("e"), f]), [
    undefined,
    undefined,
    undefined,
    [[1, 2, 4], [5]],
    undefined,
  ]);
  // Some libraries return the text of an answer as a list of parts.
  const parts = { role: "assistant", content: [{ type: "text", text: "c" }] };
  assert.deepEqual(tokensIn([a, parts, d]), [undefined, [[1], [3]], undefined]);
  const none = [undefined, undefined, undefined];
  assert.deepEqual(tokensIn([a, said("changed"), d]), none);
  assert.deepEqual(tokensIn([user("other"), said("b"), d]), none);
  assert.deepEqual(tokensIn([a, said("b"), d], { tools: [{ type: "function" }] }), none);
  assert.deepEqual(tokensIn([a]), [undefined]);
});
