// More models in training than there are processes: a model without work leaves its process to another one.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import type { TrainingSessions } from "../../../train/sessions/training-sessions.ts";
import { fakeServer } from "../testing/fake-server.ts";
import { recorded, recordedData, recordedForward } from "./testing/recorded-bodies.ts";
import { TinkerTestClient } from "./testing/test-client.ts";

test("one program trains more models than it may have processes, each from where it was", async () => {
  const clock = new FakeClock();
  const found: TrainingSessions[] = [];
  const server = await fakeServer({
    clock,
    wrap: (dependencies) => {
      found.push(dependencies.sessions);
      return dependencies;
    },
  });
  const sessions = present(found[0], "sessions");
  const sweep = async (): Promise<void> => {
    await clock.advance(10_000);
    await sessions.sweep();
  };
  const client = await TinkerTestClient.open(server);
  const first = await client.createModel(0);
  const second = await client.createModel(1);
  await client.compute(recordedData("crossEntropy", first, 1));
  await client.result("optim_step", recorded.optimStep(first, 2));
  const before = await client.compute(recordedForward(first, 3));
  // A gradient without its step would be lost, so this model keeps its process.
  await client.compute(recordedData("crossEntropy", second, 1));

  await client.json("POST", "/api/v1/create_model", recorded.createModel(client.session, 2));
  await sweep();
  const third = await client.createModel(2);
  assert.ok((await client.compute(recordedForward(third, 1))).logprobs.length > 0);

  await client.submitData(recordedForward(first, 4));
  await sweep();
  const after = await client.compute(recordedForward(first, 4));
  assert.deepEqual(after.logprobs, before.logprobs);
  assert.ok((await client.result("optim_step", recorded.optimStep(second, 2)))["metrics"]);
  await server.close();
});
