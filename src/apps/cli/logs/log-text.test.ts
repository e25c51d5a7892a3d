import assert from "node:assert/strict";
import { test } from "node:test";
import { logText } from "./log-text.ts";

const line = {
  id: "0123abcd-7",
  time: "2026-11-28T22:40:50.123Z",
  level: "warn",
  message: "it failed",
} as const;

test("formats a line as time, level, message and fields", () => {
  const fields = { jobId: "j", reason: "out of memory", count: 2, ids: ["a"], nothing: null };
  const text = logText({ ...line, fields }, { isColoured: false });
  assert.match(text, /^2026-11-2[89] \d\d:\d\d:50\.123 {2}warn {3}it failed {2}/);
  assert.ok(text.endsWith('  jobId=j  reason="out of memory"  count=2  ids=["a"]  nothing=null\n'), text);
});

test("prints an error's stack below its line", () => {
  const fields = { err: { type: "Error", message: "broken", stack: "Error: broken\n    at here" } };
  const [, ...stack] = logText({ ...line, fields }, { isColoured: false }).split("\n");
  assert.deepEqual(stack, ["    Error: broken", "        at here", ""]);
});

test("replaces control characters in logged text", () => {
  const hostile = "\u001b[2J\r\u0007";
  const fields = { [hostile]: hostile, err: { stack: hostile } };
  const text = logText({ ...line, message: hostile, fields }, { isColoured: false });
  assert.doesNotMatch(text.replaceAll("\n", ""), /\p{Cc}/u);
});

test("colours a warning yellow on a terminal with colours", () => {
  const text = logText({ ...line, fields: {} }, { isColoured: true });
  assert.ok(text.includes("\u001b[33mwarn \u001b[0m"), JSON.stringify(text));
});
