// Tests logging trajectories through two connections to one database.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../../base/domain/clock.ts";
import type { TrajectoryGroup } from "../../base/domain/trajectory.ts";
import { moment, sampleModel, sampleVersion } from "../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../store/database/testing/stores-in-memory.ts";
import { tallyLog } from "./log-metrics.ts";
import { emptyTrajectory, LogSummarizer } from "./log-summary.ts";
import { logTrajectories } from "./log-trajectories.ts";

const model = sampleModel("m");
const clock = { ...systemClock, now: () => moment(60) };
const everyLog = { after: null, limit: 100, order: "asc" } as const;

/** Returns the dependencies of two servers that share a database. The model already exists in it. */
async function twoServers() {
  const { trajectories, models } = await storesInMemory();
  await models.create(model, sampleVersion(model.id, 0));
  return [1, 2].map(() => ({ store: trajectories, models, clock }));
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

function logOf(...groups: readonly TrajectoryGroup[]) {
  const summarizer = new LogSummarizer();
  for (const group of groups) summarizer.add(group);
  const lines = groups.map((group) => JSON.stringify(group));
  return { model, split: "val", step: null, summary: summarizer.summary("val"), lines, outlines: [] };
}

test("stores logs at the newest version, each continuing the sums of the previous one", async () => {
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
  // In every order of the writes, each log must have continued the running sums of the log before it.
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

test("refuses a log to a deleted model, and invalid metrics, before storing anything", async () => {
  const [server] = await twoServers();
  const gone = { ...model, id: "gone" };
  await assert.rejects(logTrajectories(server, { ...logOf(), model: gone }), {
    code: "not_found",
  });
  const faulty = { ...scenario("a"), metrics: { level: NaN } };
  assert.throws(() => logOf(faulty), { code: "invalid" });
  assert.deepEqual((await server.store.list("m", { split: null }, everyLog)).items, []);
});

test("summarizes the groups of a log without keeping message contents", () => {
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
  assert.deepEqual(summary.tally, tallyLog("val", [group]));
  assert.ok(JSON.stringify(summary).length < 1000);
});

/** Returns a group with one answer, which the given version generated. */
function answered(reward: number, version: number | null): TrajectoryGroup {
  const trajectory = { ...emptyTrajectory, reward, finalPolicyVersion: version };
  return { ...scenario("a"), exceptions: [], trajectories: [trajectory] };
}

test("assigns a log to the version it names, else to the one that made it, else to the newest", async () => {
  const { models, trajectories: store } = await storesInMemory();
  await models.create(model, sampleVersion(model.id, 0));
  const newest = { newestVersion: async () => sampleVersion(model.id, 2) };
  const server = { store, models: newest, clock };
  const stepOf = async (step: number | null, ...versions: readonly (number | null)[]) => {
    const log = logOf(...versions.map((version) => answered(1, version)));
    return (await logTrajectories(server, { ...log, step })).step;
  };
  assert.equal(await stepOf(null, 0), 0);
  assert.equal(await stepOf(null, 1, 1), 1);
  assert.equal(await stepOf(null, 0, 1), 2);
  assert.equal(await stepOf(null, 0, null), 2);
  assert.equal(await stepOf(null), 2);
  assert.equal(await stepOf(1, 0), 1);
  // The model has no versions 7 and -1, so these numbers must come from another server. The newest version is used
  // instead.
  assert.equal(await stepOf(null, 7), 2);
  assert.equal(await stepOf(null, -1), 2);
  await assert.rejects(stepOf(3), { code: "not_found", message: /no version 3 .* newest is 2/ });
});

test("combines logs of one split at one version on the version, and keeps each log's own metrics", async () => {
  const [one, other] = await twoServers();
  const rewards = [1, 1, 1, 0];
  const own: unknown[] = [];
  for (const [index, reward] of rewards.entries()) {
    const log = logOf(answered(reward, 0));
    own.push((await logTrajectories(index % 2 === 0 ? one : other, log)).metrics["val/reward"]);
  }
  assert.deepEqual(own, rewards);
  await logTrajectories(one, { ...logOf(answered(0.5, 0)), split: "test", summary: testSummary });
  const metrics = (await one.models.findVersion(model.id, 0))?.metrics ?? {};
  assert.deepEqual([metrics["val/reward"], metrics["test/reward"]], [0.75, 0.5]);
});

const testSummary = (() => {
  const summarizer = new LogSummarizer();
  summarizer.add(answered(0.5, 0));
  return summarizer.summary("test");
})();
