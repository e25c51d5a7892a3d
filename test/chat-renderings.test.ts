// Tests that real models' chat templates render conversations byte for byte like Jinja2. The fixture's README describes
// the expected texts.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { plainConversation, type Conversation } from "../src/base/domain/chat.ts";
import { ServiceError } from "../src/base/domain/service-error.ts";
import type { Json, JsonObject } from "../src/base/domain/text/json.ts";
import type { MessageRecord } from "../src/base/domain/trajectory.ts";
import { createChatTemplate, type ChatTemplate } from "../src/inference/chat-templates/chat-template.ts";

const folder = "test/fixtures/chat-renderings";

interface Case {
  readonly messages: readonly MessageRecord[];
  readonly tools?: readonly JsonObject[];
  readonly documents?: readonly JsonObject[];
  readonly gen?: boolean;
  readonly kw?: JsonObject;
}

type Expected = { readonly template: string; readonly case: string } & (
  | { readonly text: string }
  | { readonly sha256: string }
  | { readonly refused: string }
);

const cases = JSON.parse(readFileSync(`${folder}/cases.json`, "utf8")) as Readonly<Record<string, Case>>;
const expected = readFileSync(`${folder}/expected.jsonl`, "utf8")
  .trim()
  .split("\n")
  .map((line) => JSON.parse(line) as Expected);

const specialTokens = { bos_token: "<s>", eos_token: "</s>", unk_token: "<unk>", pad_token: "<pad>" };
const clock = {
  // The date at which the expected texts were generated.
  now: () => new Date("2026-11-23T20:00:00Z"),
  monotonicMs: () => 0,
  sleep: () => Promise.resolve(),
};

function conversationOf({ messages, tools, documents, gen, kw }: Case): Conversation {
  return {
    ...plainConversation,
    messages: messages.map(asSent),
    tools: tools ?? null,
    documents: documents ?? null,
    templateArguments: kw ?? {},
    addGenerationPrompt: gen ?? true,
  };
}

/** Returns the message as it is sent over HTTP, with the arguments of tool calls as JSON text. */
function asSent(message: MessageRecord): MessageRecord {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  const sent = (calls as readonly { readonly function: { readonly arguments: Json } }[]).map((call) => ({
    ...call,
    function: { ...call.function, arguments: JSON.stringify(call.function.arguments) },
  }));
  return { ...message, tool_calls: sent };
}

function shownAs(template: ChatTemplate, conversation: Conversation, row: Expected): string | null {
  try {
    const text = template.render(conversation);
    if ("refused" in row) return "rendered, and Jinja2 refuses it";
    const isEqual =
      "text" in row ? text === row.text : createHash("sha256").update(text).digest("hex") === row.sha256;
    return isEqual ? null : "another text";
  } catch (error) {
    assert.ok(error instanceof ServiceError);
    return "refused" in row ? null : error.message;
  }
}

test("all 560 renderings of 35 models' templates equal Jinja2's, including refusals", () => {
  const templates = new Map(
    [...new Set(expected.map(({ template }) => template))].map((name) => {
      const source = readFileSync(`${folder}/templates/${name}`, "utf8");
      return [name, createChatTemplate({ source, toolUseSource: null, specialTokens, clock })] as const;
    }),
  );
  const faults = expected.flatMap((row) => {
    const template = templates.get(row.template);
    assert.ok(template !== undefined);
    const fault = shownAs(template, conversationOf(cases[row.case]), row);
    return fault === null ? [] : [`${row.template} ${row.case}: ${fault}`];
  });
  assert.equal(expected.length, 560);
  assert.deepEqual(faults, []);
});

test("every template that does not know the role developer renders developer messages as system messages", () => {
  const [system, developer, user] = [
    { role: "system", content: "FIRST" },
    { role: "developer", content: "OBEY-ME" },
    { role: "user", content: "Hi" },
  ];
  for (const name of [
    "Qwen-Qwen2.5-7B-Instruct",
    "microsoft-Phi-3.5-mini-instruct",
    "Bielik-11B-v3.0-Instruct",
  ]) {
    const source = readFileSync(`${folder}/templates/${name}.jinja`, "utf8");
    assert.ok(!source.includes("developer"));
    const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock });
    const shown = (messages: readonly MessageRecord[]): string =>
      template.render({ ...plainConversation, messages });
    assert.equal(shown([developer, user]), shown([{ ...system, content: "OBEY-ME" }, user]));
    assert.equal(shown([system, user, developer]), shown([{ ...system, content: "FIRST\n\nOBEY-ME" }, user]));
  }
});

test("a template that reads parts shows system and developer text together, separated by a blank line", () => {
  const messages = ["system", "developer", "user"].map((role, index) => ({
    role,
    content: `words ${index}`,
  }));
  for (const name of ["Mistral-Small-3.2-24B-Instruct-2506", "GLM-4.7-Flash", "ibm-granite-granite-4.0"]) {
    const source = readFileSync(`${folder}/templates/${name}.jinja`, "utf8");
    const template = createChatTemplate({ source, toolUseSource: null, specialTokens, clock });
    assert.match(template.render({ ...plainConversation, messages }), /words 0\n\nwords 1/, name);
  }
});
