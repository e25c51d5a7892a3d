import assert from "node:assert/strict";
import { test } from "node:test";
import { countedReasons, trainingNumbers } from "./round-report.ts";

test("merges failure messages that differ only in ids and waiting times", () => {
  const message = (id: string, seconds: number): string =>
    `503: Try again in ${seconds} s. Its log has more under the request id ${id}.`;
  const reasons = countedReasons([
    message("019a2b3c-0000-7000-8000-000000000001", 1),
    message("019a2b3c-0000-7000-8000-000000000002", 2),
    "no answer to chatcmpl-8f14e45fceea167a5a36dedd4bea2543",
    "no answer to chatcmpl-c9f0f895fb98ab9159f51fd0297e236d",
    "a tool said nothing-that-can-be-called-an-identifier",
  ]);
  assert.deepEqual(reasons, [
    { message: "503: Try again in some s. Its log has more under the request id ….", count: 2 },
    { message: "no answer to …", count: 2 },
    { message: "a tool said nothing-that-can-be-called-an-identifier", count: 1 },
  ]);
});

test("reads a job's numbers from its last event, and returns null for missing ones", () => {
  const data = { "data/step_num_gradient_steps": 4, "loss/entropy": 0.5, "loss/grad_norm": 2 };
  assert.deepEqual(trainingNumbers(data), {
    steps: 4,
    loss: null,
    entropy: 0.5,
    klDiv: null,
    klUpdate: null,
    klPolicyRef: null,
    gradNorm: 2,
  });
  assert.equal(trainingNumbers({ "data/step_num_gradient_steps": 0 }), null);
  assert.equal(trainingNumbers({}), null);
});
