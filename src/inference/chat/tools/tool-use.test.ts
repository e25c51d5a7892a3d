import assert from "node:assert/strict";
import { test } from "node:test";
import type { ToolChoice } from "../../../base/domain/chat.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import { chatRequest } from "../testing/chat-request.ts";
import type { ReplyAbilities } from "../reply-abilities.ts";
import { plainReplies } from "../testing/plain-replies.ts";
import type { ServedBase } from "../served-base.ts";
import { callFormats } from "./call-formats.ts";
import { uncalledToolsNotice, refuseCalls } from "./tool-use.ts";

const base = baseOf(plainReplies);

function baseOf(replies: ReplyAbilities): Pick<ServedBase, "model" | "replies"> {
  return { model: { name: "tiny", folder: "" }, replies };
}

const prompt = { tools: [{ type: "function", function: { name: "f" } }] };
const choices: readonly ToolChoice[] = [{ kind: "auto" }, { kind: "required" }, { kind: "named", name: "f" }];

test("refuses every tool choice except none for a model without tool calls, naming the setting", () => {
  for (const choice of choices)
    assert.throws(
      () => refuseCalls(chatRequest({ prompt, calls: { choice } }), base),
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
    refuseCalls(chatRequest({ prompt, calls: { choice } }), base);
});

test("refuses required calls of a tool whose schema does not accept an object", () => {
  const refuses = (tool: object, choice: ToolChoice): void => {
    const tools = [{ type: "function", function: { name: "f", ...tool } }];
    const request = chatRequest({ prompt: { tools }, calls: { choice } });
    const replies = { ...plainReplies, callFormat: callFormats.hermes };
    assert.throws(
      () => refuseCalls(request, baseOf(replies)),
      (error) => {
        assert.ok(error instanceof ServiceError && error.code === "unsupported");
        const place = ["prompt", "tools", "0", "function", "parameters", "type"];
        assert.deepEqual(error.faults[0]?.location, place);
        return true;
      },
    );
  };
  refuses({ parameters: { type: "string" } }, { kind: "required" });
  refuses({ parameters: { type: "array" }, strict: true }, { kind: "auto" });
});

test("returns a notice that calls are not read if a request has tools but no tool choice", () => {
  assert.match(String(uncalledToolsNotice(chatRequest({ prompt }), base)), /chat\.toolCalls is off for tiny/);
  assert.equal(uncalledToolsNotice(chatRequest({ prompt, calls: { choice: { kind: "none" } } }), base), null);
  assert.equal(uncalledToolsNotice(chatRequest(), base), null);
});
