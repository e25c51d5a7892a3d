// Tests how often a job takes snapshots, and which snapshot the next attempt finds.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { embeddedProfile } from "../embedded/profile.ts";
import { JobSnapshots, noSteps, snapshotStates, type SnapshotOptions } from "./job-snapshots.ts";

const { signal } = new AbortController();

/** Simulates a job in which saving a snapshot takes `saveMs` milliseconds. */
class Bench {
  readonly dataFolder = mkdtempSync(join(tmpdir(), "hone-snapshots-"));
  readonly clock = new FakeClock();
  saveMs = 100;
  /** Keys of the states that the fake trainer has saved. They have no files. */
  readonly states = new Set<string>();

  constructor(t: TestContext) {
    t.after(() => rmSync(this.dataFolder, { recursive: true }));
  }

  snapshots(options: Partial<SnapshotOptions> = {}): JobSnapshots {
    const { clock } = this;
    const { artifacts, folder } = dataFolderAt(this.dataFolder);
    const note = async (): Promise<void> => undefined;
    const key = { seed: "seed" };
    const trainers = {
      profile: { ...embeddedProfile, name: "remote" },
      discard: async (state: string) => void this.states.delete(state),
    };
    return new JobSnapshots({
      trainers,
      artifacts,
      workFolder: folder.jobFolder("j"),
      runKey: "jobs/j",
      share: 0.1,
      key,
      clock,
      note,
      ...options,
    });
  }

  /** Simulates a step of `ms` milliseconds, then offers a snapshot. Returns true if the snapshot was taken. */
  async step(snapshots: JobSnapshots, index: number, ms: number): Promise<boolean> {
    await this.clock.advance(ms);
    const saveState = async (name: string): Promise<string> => {
      await this.clock.advance(this.saveMs);
      this.states.add(`state of ${name}`);
      return `state of ${name}`;
    };
    const metrics = Array.from({ length: index + 1 }, (_, at) => ({ loss: at }));
    return snapshots.offer({ saveState }, { ...noSteps, metrics }, signal);
  }

  get files(): readonly string[] {
    return readdirSync(join(this.dataFolder, "jobs/j")).toSorted();
  }
}

test("snapshots take at most their share of the time, starting with the first step", async (t) => {
  const bench = new Bench(t);
  const snapshots = bench.snapshots();
  const made: boolean[] = [];
  for (const index of Array.from({ length: 20 }).keys()) made.push(await bench.step(snapshots, index, 100));
  // The first snapshot measures how long saving takes: 0.1 s. A snapshot is then taken after every 0.9 s of work, which
  // is every ninth step.
  assert.deepEqual(
    made.flatMap((isMade, index) => (isMade ? [index] : [])),
    [0, 9, 18],
  );
  bench.saveMs = 5;
  assert.equal(await bench.step(snapshots, 20, 900), true);
  assert.equal(await bench.step(snapshots, 21, 100), true);
});

test("keeps each step at a share of 1, and none at 0", async (t) => {
  const bench = new Bench(t);
  const [every, none] = [bench.snapshots({ share: 1 }), bench.snapshots({ share: 0 })];
  for (const index of [0, 1, 2]) {
    assert.equal(await bench.step(every, index, 1), true);
    assert.equal(await bench.step(none, index, 1e6), false);
  }
  assert.deepEqual(bench.files, ["step-3.json"]);
  assert.deepEqual([...bench.states], ["state of jobs/j/step-3"], "those before it are gone");
  assert.deepEqual(await snapshotStates(join(bench.dataFolder, "jobs")), ["remote:state of jobs/j/step-3"]);
});

test("finds the newest complete snapshot of the same steps", async (t) => {
  const bench = new Bench(t);
  const snapshots = bench.snapshots({ share: 1 });
  assert.equal(await snapshots.newest([]), null);
  await bench.step(snapshots, 4, 1);
  mkdirSync(join(bench.dataFolder, "jobs/j/step-6.json.tmp"));
  mkdirSync(join(bench.dataFolder, "jobs/j/step-7"));
  const found = await bench.snapshots().newest([]);
  assert.equal(found?.past.metrics.length, 5);
  assert.equal(found?.state, "state of jobs/j/step-5");
  assert.deepEqual(bench.files, ["step-5.json"]);
  assert.equal(await bench.snapshots({ key: { seed: "another" } }).newest([]), null);
  assert.deepEqual([bench.files, [...bench.states]], [[], []]);
});

test("computes start values once, and losing them discards the snapshots", async (t) => {
  const bench = new Bench(t);
  const arrays = [Float32Array.of(-0.1, NaN), Float32Array.of(), Float32Array.of(-1e-30)];
  let count = 0;
  const compute = async () => ((count += 1), arrays);
  for (const snapshots of [bench.snapshots(), bench.snapshots()])
    assert.deepEqual(await snapshots.once("old", compute), arrays);
  assert.equal(count, 1);
  await bench.step(bench.snapshots(), 0, 1);
  assert.notEqual(await bench.snapshots().newest(["old"]), null);
  assert.equal(await bench.snapshots().newest(["old", "other"]), null);
  await bench.snapshots({ key: { seed: "another" } }).once("old", compute);
  assert.equal(count, 2);
});
