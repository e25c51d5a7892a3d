// Logging through the stores of one database, opened twice.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../domain/clock.ts";
import type { TrajectoryGroup } from "../domain/trajectory.ts";
import { moment, sampleModel, sampleVersion } from "../storage/contract/storage-under-test.ts";
import { memoryStorage } from "../storage/testing/memory-database.ts";
import { measureLog } from "./log-metrics.ts";
import { emptyTrajectory, LogSummarizer } from "./log-summary.ts";
import { logTrajectories } from "./log-trajectories.ts";

const model = sampleModel("m");
const clock = { ...systemClock, now: () => moment(60) };
const everyLog = { after: null, limit: 100, order: "asc" } as const;

/** The dependencies of two servers on one database that has the model. */
async function twoServers() {
  const open = memoryStorage();
  await open().models.create(model, sampleVersion(model.id, 0));
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

/** What is logged of the groups. */
function logOf(...groups: readonly TrajectoryGroup[]) {
  const summarizer = new LogSummarizer();
  for (const group of groups) summarizer.add(group);
  const lines = groups.map((group) => JSON.stringify(group));
  return { model, split: "val", summary: summarizer.summary("val"), lines, outlines: [] };
}

test("stores logs at the newest version, each going on from the sums of the one before", async () => {
  const servers = await twoServers();
  const results = await Promise.all(
    [["a", "b"], ["b"], ["c"]].map((ids, index) =>
      logTrajectories(servers[index % 2], logOf(...ids.map(scenario))),
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

test("refuses to log to a model that is gone, and metrics with a fault before anything is stored", async () => {
  const [server] = await twoServers();
  const gone = { ...model, id: "gone" };
  await assert.rejects(logTrajectories(server, { ...logOf(), model: gone }), {
    code: "not_found",
  });
  const faulty = { ...scenario("a"), metrics: { level: NaN } };
  assert.throws(() => logOf(faulty), { code: "invalid" });
  assert.deepEqual((await server.store.list("m", { split: null }, everyLog)).items, []);
});

test("a summary says of a log what its groups say, and keeps none of what was said in them", () => {
  const history = [{ role: "user", content: "x".repeat(1000) }];
  const trajectory = {
    ...emptyTrajectory,
    messagesAndChoices: history,
    reward: 1,
    metadata: { scenario_id: 7 },
  };
  const group = { ...scenario("a"), metadata: {}, trajectories: [trajectory, { ...trajectory, reward: 0 }] };
  const { summary } = logOf(group);
  assert.deepEqual([summary.groupCount, summary.trajectoryCount, summary.scenarioIds], [1, 2, ["7", "7"]]);
  assert.deepEqual(summary.measured, measureLog("val", [group]));
  assert.ok(JSON.stringify(summary).length < 1000);
});
