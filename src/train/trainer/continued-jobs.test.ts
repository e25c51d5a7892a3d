// Tests that an attempt at a job continues where a lost attempt ended.
import assert from "node:assert/strict";
import { rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { searchedOf } from "../../base/domain/testing/search.ts";
import { type SeenEvents } from "./testing/silent-report.ts";
import { Bench, death, atReport } from "./testing/job-bench.ts";

/** Kills the training process in the n-th trainer call of a kind, counted from 1. The parent sees no later event. */
function inCall(bench: Bench, kind: string, wanted: number): SeenEvents {
  let count = 0;
  bench.trainers.onCall = (call) => {
    if (call.kind === kind && ++count === wanted) throw death;
  };
  return { noted: () => Promise.reject(death) };
}

/** Ways to lose an attempt at a job of three steps. For each, the number of steps whose state was saved. */
const deaths: readonly (readonly [when: string, kept: number, on: (bench: Bench) => SeenEvents])[] = [
  ["before the first step", 0, (bench) => inCall(bench, "forwardBackward", 1)],
  ["before the first step is reported", 0, () => atReport("stepped", 1)],
  ["while the first snapshot is written", 0, (bench) => inCall(bench, "saveState", 1)],
  ["after the first snapshot", 1, () => atReport("saved", 1)],
  ["in the second step", 1, (bench) => inCall(bench, "optimStep", 2)],
  ["while the second snapshot is written", 1, (bench) => inCall(bench, "saveState", 2)],
  ["after the second snapshot", 2, () => atReport("saved", 2)],
  ["before the last step is reported", 2, () => atReport("stepped", 3)],
  ["while the version is written", 2, (bench) => inCall(bench, "exportAdapter", 1)],
  ["while the version's state is saved", 2, (bench) => inCall(bench, "saveState", 3)],
];

for (const precalculateLogprobs of [false, true]) {
  const withWhat = precalculateLogprobs ? "precalculated" : "recorded";
  test(`an attempt continues after the last step that a lost one kept and gives the same version, with ${withWhat} log-probabilities`, async (t) => {
    const config = { precalculateLogprobs };
    const undisturbed = new Bench(t);
    const expected = await undisturbed.run({ config });
    for (const [when, keptCount, on] of searchedOf(deaths, 2, withWhat)) {
      const bench = new Bench(t);
      const input = { snapshotShare: 1 };
      await assert.rejects(bench.run({ config, input, on: on(bench) }), death);
      bench.trainers.onCall = () => undefined;
      bench.trainers.calls.length = 0;
      const seen: { steps: Readonly<Record<string, number>>[]; saved: number[] } = { steps: [], saved: [] };
      const outcome = await bench.run({
        config,
        input,
        on: {
          stepped: async ({ metrics }) => void seen.steps.push(metrics),
          saved: async ({ stepCount }) => void seen.saved.push(stepCount),
        },
      });
      const count = bench.kinds.filter((kind) => kind === "optimStep").length;
      assert.equal(count, 3 - keptCount, `${when}: ${count} steps were repeated`);
      assert.deepEqual(seen.steps, undisturbed.steps, when);
      assert.equal(seen.saved[0], keptCount, when);
      assert.deepEqual(outcome, expected, when);
      assert.deepEqual(bench.bytes(), undisturbed.bytes(), when);
      assert.deepEqual(bench.stateBytes(), undisturbed.stateBytes(), when);
      assert.deepEqual([...new Set(bench.warnings)], undisturbed.warnings, when);
    }
  });
}

test("a continued attempt does not report stored steps again", async (t) => {
  const bench = new Bench(t);
  const input = { snapshotShare: 1, reportedStepCount: 1 };
  await assert.rejects(bench.run({ input, on: atReport("saved", 2) }), death);
  const reported: number[] = [];
  await bench.run({ input, on: { stepped: async ({ index }) => void reported.push(index) } });
  assert.deepEqual(reported, [1, 2]);
});

test("an unusable snapshot costs only the steps before it", async (t) => {
  const undisturbed = new Bench(t);
  await undisturbed.run();
  const damages: readonly ((snapshot: string) => void)[] = [
    (snapshot) => truncateSync(join(snapshot, "naive-state.json"), 100),
    (snapshot) => rmSync(join(snapshot, "naive-state.json")),
    (snapshot) => truncateSync(`${snapshot}.json`, 10),
  ];
  for (const damage of damages) {
    const bench = new Bench(t);
    const input = { snapshotShare: 1 };
    await assert.rejects(bench.run({ input, on: atReport("saved", 2) }), death);
    damage(join(bench.dataFolder, "jobs/job/step-2"));
    const notes: string[] = [];
    const on: SeenEvents = {
      stepped: async () => undefined,
      noted: async ({ message }) => void notes.push(message),
    };
    await bench.run({ input, on });
    assert.equal(notes.length, 1, notes.join());
    assert.deepEqual(bench.bytes(), undisturbed.bytes());
  }
});

test("a snapshot that cannot be written is skipped, and the job continues", async (t) => {
  const undisturbed = new Bench(t);
  await undisturbed.run();
  const bench = new Bench(t);
  const notes: string[] = [];
  const obstruct = async (): Promise<void> => {
    const jobs = join(bench.dataFolder, "jobs");
    rmSync(jobs, { recursive: true });
    // Puts a file where the folder of jobs belongs, so that writing there fails.
    writeFileSync(jobs, "");
  };
  await bench.run({
    input: { snapshotShare: 1 },
    on: { started: obstruct, noted: async ({ message }) => void notes.push(message) },
  });
  assert.equal(notes.length, 3);
  assert.match(notes[0], /^checked-logprobs could not be stored: /);
  assert.match(notes[1], /^No snapshot was made after step 1: /);
  assert.deepEqual(bench.bytes(), undisturbed.bytes());
});
