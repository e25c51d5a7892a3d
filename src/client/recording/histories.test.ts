import assert from "node:assert/strict";
import { test } from "node:test";
import { historiesOf } from "./histories.ts";
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

/** The calls, each with its messages and what was answered, against the items of each history by what they say. */
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

test("a call that goes on from an answer is a further turn", () => {
  check(
    [
      { asked: [user("a")], answers: [said("b")] },
      { asked: [user("a"), said("b"), user("c")], answers: [said("d")] },
      { asked: [user("a"), said("b"), user("c"), said("d"), user("e")], answers: [said("f")] },
    ],
    [["user: a", "choice: b", "user: c", "choice: d", "user: e", "choice: f"]],
  );
});

test("however a library spells the answer that it sends back", () => {
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

test("what goes on from nothing that was said begins a history, whose earlier answers do not train again", () => {
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

test("every answer of a call with several can be gone on from", () => {
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

test("other tools are another history, and a choice keeps what its request said of the prompt", () => {
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
