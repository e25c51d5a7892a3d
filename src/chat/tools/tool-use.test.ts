import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolChoice } from "../../domain/chat.ts";
import { ServiceError } from "../../domain/service-error.ts";
import { chatRequest } from "../testing/chat-request.ts";
import { noticeOf, refuseCalls } from "./tool-use.ts";

const prompt = { tools: [{ type: "function", function: { name: "f" } }] };
const choices: readonly ToolChoice[] = [{ kind: "auto" }, { kind: "required" }, { kind: "named", name: "f" }];

test("a model that calls no tools refuses every choice but none, naming the setting", () => {
  for (const choice of choices)
    assert.throws(
      () => refuseCalls(chatRequest({ prompt, calls: { choice } }), "tiny"),
      (error) => {
        assert.ok(error instanceof ServiceError && error.code === "invalid");
        assert.deepEqual(
          error.faults.map(({ location }) => location),
          [["calls", "choice"]],
        );
        assert.match(error.message, /model tiny calls no tools \(chat\.toolCalls is off/);
        return true;
      },
    );
  for (const choice of [{ kind: "none" } as const, undefined])
    refuseCalls(chatRequest({ prompt, calls: { choice } }), "tiny");
});

test("tools without a choice are told that no calls are read", () => {
  assert.match(String(noticeOf(chatRequest({ prompt }), "tiny")), /chat\.toolCalls is off for tiny/);
  assert.equal(noticeOf(chatRequest({ prompt, calls: { choice: { kind: "none" } } }), "tiny"), null);
  assert.equal(noticeOf(chatRequest(), "tiny"), null);
});
