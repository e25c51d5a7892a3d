// Logging through the stores of one database, opened twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../domain/clock.ts";
import type { TrainedModel } from "../domain/model.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { memoryStorage } from "../storage/testing/memory-database.ts";
import { logTrajectories } from "./log-trajectories.ts";

const createdAt = new Date("2026-11-21T10:00:00Z");
const model: TrainedModel = {
  id: "m",
  entity: "e",
  project: "p",
  name: "n",
  baseModel: "tiny",
  createdAt,
};
const clock = { ...systemClock, now: () => new Date("2026-11-21T10:01:00Z") };
const everyLog = { after: null, limit: 100, order: "asc" } as const;

/** The dependencies of two servers on one database that has the model. */
async function twoServers() {
  const open = memoryStorage();
  const version = { adapterFolder: null, trainerState: null, jobId: null, metrics: {}, createdAt };
  await open().models.create(model, { id: "m:0", modelId: "m", step: 0, ...version });
  return [open(), open()].map(({ trajectories, models }) => ({ store: trajectories, models, clock }));
}

function scenario(id: string): TrajectoryGroup {
  return {
    trajectories: [],
    exceptions: [{}],
    metadata: { scenario_id: id },
    metrics: {},
    logs: [],
    extra: {},
  };
}

test("stores logs at the newest version, each going on from the sums of the one before", async () => {
  const servers = await twoServers();
  const results = await Promise.all(
    [["a", "b"], ["b"], ["c"]].map((ids, index) =>
      logTrajectories(servers[index % 2], { model, split: "val", groups: ids.map(scenario) }),
    ),
  );
  const sums = results.map(({ step, metrics }) => [
    step,
    metrics["data/cum/num_scenarios"],
    metrics["data/cum/num_unique_scenarios"],
    metrics["time/wall_clock_sec"],
  ]);
  // Whichever came first, each log raised the sums of the one before it.
  const bySum = sums.toSorted((one, other) => one[1] - other[1]);
  assert.deepEqual(bySum.at(-1), [0, 4, 3, 60]);
  assert.equal(new Set(bySum.map(([, sum]) => sum)).size, 3);
  const { items } = await servers[0].store.list("m", { split: null }, everyLog);
  assert.deepEqual(
    items.map((log) => [log.modelId, log.split, log.step]),
    items.map(() => ["m", "val", 0]),
  );
  assert.deepEqual(
    items.reduce((count, log) => count + log.groupCount, 0),
    4,
  );
});

test("refuses to log to a model that is gone, and stores nothing of a log with a fault", async () => {
  const [server] = await twoServers();
  const gone = { ...model, id: "gone" };
  await assert.rejects(logTrajectories(server, { model: gone, split: "val", groups: [] }), {
    code: "not_found",
  });
  const faulty = [{ ...scenario("a"), metrics: { level: NaN } }];
  await assert.rejects(logTrajectories(server, { model, split: "val", groups: faulty }), {
    code: "invalid",
  });
  assert.deepEqual((await server.store.list("m", { split: null }, everyLog)).items, []);
});
