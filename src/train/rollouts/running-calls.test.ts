// Tests that the calls of a rollout are aborted when the rollout ends on this server, ends on another server, or
// expires.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { RolloutStore } from "../../base/domain/rollouts/rollout.ts";
import type { ServiceError } from "../../base/domain/service-error.ts";
import { FakeClock } from "../../base/domain/testing/fake-clock.ts";
import { sampleRollout } from "../../store/database/contract/rollout-store.ts";
import { sampleModel, sampleVersion } from "../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { RunningCalls } from "./running-calls.ts";

async function place() {
  const { models, rollouts } = await storesInMemory();
  const clock = new FakeClock();
  await models.create(sampleModel("m"), sampleVersion("m", 0));
  const create = (id: string) => {
    const createdAt = clock.now();
    const expiresAt = new Date(createdAt.getTime() + 60_000);
    return rollouts.create(sampleRollout(id, { createdAt, expiresAt }), { openMax: 9 });
  };
  const running = new RunningCalls({ rollouts, clock, onFault: assert.ifError });
  const end = (id: string, outcome: Parameters<RolloutStore["end"]>[1]["outcome"]) =>
    rollouts.end(id, { at: clock.now(), outcome });
  return { clock, create, running, end };
}

const reasonOf = ({ signal }: { readonly signal: AbortSignal }) =>
  signal.aborted ? (signal.reason as ServiceError).message : null;

test("aborts all calls of an ended rollout, and no others", async () => {
  const { clock, create, running, end } = await place();
  for (const id of ["a", "b", "c"]) await create(id);
  const calls = ["a", "a", "b", "c"].map((id) => running.enter(id));
  calls[1]?.leave();
  await end("a", null);
  await running.abortEnded("a");
  assert.deepEqual(calls.map(reasonOf), [
    "This call was aborted, because its rollout was cancelled.",
    null,
    null,
    null,
  ]);
  // Another server ends rollout `b`. Later, rollout `c` expires.
  await end("b", { reward: 1, metrics: {}, callRewards: {} });
  await running.look();
  assert.match(reasonOf(calls[2] ?? assert.fail()) ?? "", /was finished/);
  assert.equal(reasonOf(calls[3] ?? assert.fail()), null);
  clock.step(60_000);
  await running.look();
  assert.match(reasonOf(calls[3] ?? assert.fail()) ?? "", /expired/);
});
