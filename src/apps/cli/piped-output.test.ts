// Tests, for each command that lists or shows something, that its output in a pipe is plain text.
import assert from "node:assert/strict";
import { test } from "node:test";
import { playJob } from "../../api/http/testing/fake-server.ts";
import { listening, run, submit } from "./testing/commands-under-test.ts";

test("commands print neither colours nor prompts nor progress to a pipe, and cut no value", async (t) => {
  const { server, modelId, member } = await listening(t);
  const step = { type: "gradient_step" as const, data: { loss: 0.1, step: 1 } };
  const jobId = await submit(server, modelId);
  await playJob(server, { step: 1, events: [step] });
  const lines = [
    ["models"],
    ["models", "versions", "p/m"],
    ["jobs"],
    ["jobs", "show", jobId],
    ["jobs", "watch", jobId],
    ["rollout", "list", "p/m"],
    ["rules"],
    ["learning", "list", "p/m"],
    ["completions"],
    ["queues", "list", "p"],
    ["feedback", "list", "p"],
    ["feedback", "stats", "p"],
    ["webhooks"],
    ["retention"],
    ["top", "--once", "--interval", "0.2"],
    ["open"],
    ["chat", "hello"],
  ];
  const { outputs, errors } = await run(lines, member);
  for (const [index, output] of outputs.entries()) {
    assert.doesNotMatch(output, /(?!\n)\p{Cc}|…|^> /mu, lines[index].join(" "));
    assert.match(output, /status 0$/, lines[index].join(" "));
  }
  assert.match(outputs[2], new RegExp(`^${jobId} `, "m"));
  assert.equal(errors, "");
});

test("a pipe gets at most five values of each event of a job", async (t) => {
  const { server, modelId, member } = await listening(t);
  const metrics = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`loss/${index}`, index]));
  const jobId = await submit(server, modelId);
  const step = { type: "gradient_step" as const, data: { ...metrics, loss: 0.1, step: 1 } };
  await playJob(server, { step: 1, events: [step] });
  const { outputs } = await run([["jobs", "watch", jobId]], member);
  for (const line of outputs[0].split("\n")) assert.ok(line.split("  ").length <= 7, line);
});
