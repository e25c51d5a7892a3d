// Logging through a store kept in memory.
import assert from "node:assert/strict";
import { test } from "node:test";
import { systemClock } from "../domain/clock.ts";
import type { TrainedModel } from "../domain/model.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { TrajectoryGroup, TrajectoryLog, TrajectoryStore } from "../domain/trajectory.ts";
import { type LogTrajectoriesDependencies, logTrajectories } from "./log-trajectories.ts";

const createdAt = new Date("2026-11-21T10:00:00Z");
const model: TrainedModel = {
  id: "m",
  entity: "e",
  project: "p",
  name: "n",
  baseModel: "tiny",
  createdAt,
};

/** Answers late, so that logs that did not wait for each other would lose sums. */
function memoryStore(): { store: TrajectoryStore; logs: TrajectoryLog[] } {
  const logs: TrajectoryLog[] = [];
  const store: TrajectoryStore = {
    append: async (log) => void logs.push(log),
    list: async (_modelId, _filter, page) => {
      const start = page.after === null ? 0 : logs.findIndex((log) => log.id === page.after) + 1;
      return { items: logs.slice(start, start + 1), hasMore: start + 1 < logs.length };
    },
    listMetrics: () => assert.fail("not asked for"),
    newestMetrics: async () => {
      await new Promise((resolve) => setImmediate(resolve));
      return logs.at(-1) ?? null;
    },
  };
  return { store, logs };
}

function dependencies(store: TrajectoryStore, step: number | null): LogTrajectoriesDependencies {
  const version =
    step === null
      ? null
      : {
          id: `m:${step}`,
          modelId: "m",
          step,
          adapterFolder: null,
          trainerState: null,
          jobId: null,
          metrics: {},
          createdAt,
        };
  return {
    store,
    models: { newestVersion: async () => version },
    clock: { ...systemClock, now: () => new Date("2026-11-21T10:01:00Z") },
  };
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
  const { store, logs } = memoryStore();
  const deps = dependencies(store, 4);
  const results = await Promise.all(
    [["a", "b"], ["b"], ["c"]].map((ids) =>
      logTrajectories(deps, { model, split: "val", groups: ids.map(scenario) }),
    ),
  );
  assert.deepEqual(
    results.map(({ step, metrics }) => [
      step,
      metrics["data/cum/num_scenarios"],
      metrics["data/cum/num_unique_scenarios"],
      metrics["time/wall_clock_sec"],
    ]),
    [
      [4, 2, 2, 60],
      [4, 3, 2, 60],
      [4, 4, 3, 60],
    ],
  );
  assert.deepEqual(
    logs.map((log) => [log.modelId, log.split, log.step, log.groups.length]),
    [
      ["m", "val", 4, 2],
      ["m", "val", 4, 1],
      ["m", "val", 4, 1],
    ],
  );
});

test("refuses to log to a model that is gone, and goes on with the next log", async () => {
  const { store, logs } = memoryStore();
  await assert.rejects(
    logTrajectories(dependencies(store, null), { model, split: "val", groups: [] }),
    (error) => error instanceof ServiceError && error.code === "not_found",
  );
  await logTrajectories(dependencies(store, 0), { model, split: "val", groups: [] });
  assert.equal(logs.length, 1);
});
