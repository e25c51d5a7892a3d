import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decoded,
  encoded,
  messagesBefore,
  messagesOf,
  type Reply,
  type Round,
  runningReply,
  withReply,
} from "./conversation.ts";
import { noAnswer } from "./stream-answer.ts";

const call = { id: "c1", name: "find", arguments: '{"city":"Oslo"}' };
const replied = (text: string, more: Partial<Reply> = {}): Reply => ({
  kind: "ended",
  answer: { ...noAnswer, text },
  failure: null,
  results: {},
  seed: null,
  ...more,
});
const calling = replied("", { answer: { ...noAnswer, toolCalls: [call] }, results: { c1: "59.9" } });
const rounds: readonly Round[] = [
  { question: "Where?", columns: [[calling, replied("In the north.")], [replied("Here.")]] },
  { question: "Sure?", columns: [[runningReply], [runningReply]] },
];

test("each model's request has its own answers, with tool calls and their results", () => {
  assert.deepEqual(messagesOf(rounds, 0, "Be brief."), [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Where?" },
    {
      role: "assistant",
      content: "",
      tool_calls: [{ id: "c1", type: "function", function: { name: "find", arguments: call.arguments } }],
    },
    { role: "tool", tool_call_id: "c1", content: "59.9" },
    { role: "assistant", content: "In the north." },
    { role: "user", content: "Sure?" },
  ]);
  assert.deepEqual(
    messagesOf(rounds, 1, " ").map(({ content }) => content),
    ["Where?", "Here.", "Sure?"],
  );
});

test("the request of the newest answer ends before this answer", () => {
  const rolesOf = (all: readonly Round[]) => messagesBefore(all, 0, "").map(({ role }) => role);
  assert.deepEqual(rolesOf(rounds.slice(0, 1)), ["user", "assistant", "tool"]);
  assert.deepEqual(rolesOf([{ question: "Where?", columns: [[replied("Here.")]] }]), ["user"]);
  assert.deepEqual(rolesOf([]), []);
});

test("changes only the newest reply of one model in a round", () => {
  const changed = withReply(rounds, { round: 0, column: 0 }, replied("In Oslo."));
  const textsOf = (all: readonly Round[]) =>
    all.map(({ columns }) => columns.map((replies) => replies.map(({ answer }) => answer.text)));
  assert.deepEqual(textsOf(changed), [
    [["", "In Oslo."], ["Here."]],
    [[""], [""]],
  ]);
});

test("reads back a conversation from the address, and ignores an unreadable one", () => {
  const [first] = rounds;
  assert.ok(first);
  assert.deepEqual(decoded(encoded([first])), [first]);
  const named = replied("Here.", { answer: { ...noAnswer, id: "chatcmpl-1", text: "Here." }, seed: "7" });
  assert.deepEqual(decoded(encoded([{ question: "Where?", columns: [[named]] }])), [
    { question: "Where?", columns: [[named]] },
  ]);
  assert.equal(encoded([{ ...first, question: "?".repeat(20_000) }]), null);
  assert.deepEqual([decoded(null), decoded("[{"), decoded("[1]")], [[], [], []]);
});
