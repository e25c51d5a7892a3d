// Tests the loop of turns with a scripted model and with tools that the tests define.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { JsonObject } from "../recording/trajectory-fetch.ts";
import type { RecordedTrajectory } from "../recording/recorded-trajectory.ts";
import { toolRollout, type ToolAttempt, type ToolRolloutOptions } from "./tool-rollout.ts";
import type { ToolSet } from "./tool-set.ts";

const call = (id: string) => ({
  id,
  type: "function",
  function: { name: "add", arguments: `{"x":"${id}"}` },
});
const calls = (...ids: readonly string[]) => ({ content: null, tool_calls: ids.map(call) });

/** Runs one rollout in which the model gives these answers, each with its finish reason. */
async function attempt(
  answers: readonly (readonly [message: object, reason: string])[],
  {
    opensOwn = false,
    ...options
  }: Partial<ToolRolloutOptions<string>> & { readonly opensOwn?: boolean } = {},
) {
  const requests: JsonObject[] = [];
  const chat = async (body: JsonObject) => {
    requests.push(structuredClone(body));
    const [message, reason] = answers[requests.length - 1] ?? assert.fail("too many turns");
    return { choices: [{ message: { role: "assistant", ...message }, finish_reason: reason }] };
  };
  // Safe cast: the loop uses only these members.
  const trajectory = { chat, signal: new AbortController().signal } as unknown as RecordedTrajectory;
  const run: string[] = [];
  const tools: ToolSet = {
    tools: [{ type: "function", function: { name: "add" } }],
    call: async ({ id }) => {
      run.push(id);
      return { content: `result ${id}`, isError: id === "bad" };
    },
    close: async () => void run.push("closed"),
  };
  let seen: ToolAttempt<string> | undefined;
  const rollout = toolRollout<string>({
    ...options,
    tools: opensOwn ? async () => tools : tools,
    reward: (one) => {
      seen = one;
      return 1;
    },
  });
  return { result: await rollout("task", trajectory), requests, run, seen: seen ?? assert.fail() };
}

test("calls tools in order until an answer has no calls, and counts turns, calls and errors", async () => {
  const { result, requests, run, seen } = await attempt(
    [
      [calls("a", "bad"), "tool_calls"],
      [{ content: "done" }, "stop"],
    ],
    { request: (turn) => ({ temperature: turn }) },
  );
  assert.deepEqual(run, ["a", "bad"]);
  assert.deepEqual(
    requests.map(({ temperature }) => temperature),
    [0, 1],
  );
  assert.deepEqual(
    (requests[1]?.["messages"] as readonly JsonObject[] | undefined)?.slice(2),
    ["a", "bad"].map((id) => ({ role: "tool", tool_call_id: id, content: `result ${id}` })),
  );
  assert.deepEqual([seen.answer, seen.endedBy, seen.turns, seen.calls.length], ["done", "answer", 2, 2]);
  assert.deepEqual(result, { reward: 1, metrics: { turns: 2, tool_calls: 2, tool_errors: 1 } });
});

test("ends at an answer that was cut off, without running its calls", async () => {
  const { run, seen } = await attempt([[calls("a"), "length"]]);
  assert.deepEqual([run, seen.endedBy, seen.turns], [[], "length", 1]);
});

test("ends after the maximum of turns, and runs at most 16 calls of an answer", async () => {
  const many = Array.from({ length: 17 }, (_, index) => String(index));
  const { run, seen } = await attempt([[calls(...many), "tool_calls"]], { turnsMax: 1 });
  assert.deepEqual([run.length, seen.calls.length, seen.endedBy, seen.answer], [16, 17, "turns", ""]);
  assert.match(seen.calls[16]?.result ?? "", /may have 16 calls/);
});

test("closes tools that it opened for one rollout, and leaves shared tools open", async () => {
  const answers = [[{ content: "done" }, "stop"]] as const;
  assert.deepEqual((await attempt(answers)).run, []);
  const own = await attempt(answers, { opensOwn: true });
  assert.deepEqual(own.run, ["closed"]);
});

test("refuses an unknown option and an invalid number of turns", () => {
  const options = {
    tools: { tools: [], call: () => assert.fail(), close: async () => undefined },
    reward: () => 1,
  };
  assert.throws(() => toolRollout({ ...options, turnsMax: 0 }), /turnsMax is 0; it must be a whole number/);
  assert.throws(() => toolRollout({ ...options, turns: 3 } as never), /toolRollout has no option turns/);
});
