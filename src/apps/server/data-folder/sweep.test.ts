// Tests of the sweep of a data folder at a server's start, and of the sweep of dead servers while jobs run.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test, type TestContext } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { systemClock } from "../../../base/domain/clock.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import {
  moment,
  sampleCounts,
  sampleJob,
  samplePins,
  sampleVersion,
  storeModel,
  storeServer,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { sweepDataFolder, createDeadServerSweep } from "./sweep.ts";

/**
 * Creates model `m`: version 1, the deleted version 2, a cancelled job for version 3, and a running job for version 4.
 */
async function open(t: TestContext, { hasOthers = false } = {}) {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-sweep-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { artifacts, folder } = dataFolderAt(dataFolder);
  const { models, jobs, servers } = await storesInMemory();
  await storeServer(servers);
  await storeModel(models, "m");
  const claim = async (id: string, resultStep: number): Promise<void> => {
    await jobs.create(sampleJob(id, "m"), [], null);
    await jobs.claim("server", moment(0));
    await jobs.pin(id, "server", { ...samplePins, resultStep });
  };
  const succeed = async (id: string, step: number): Promise<void> => {
    const version = sampleVersion("m", step, { jobId: id });
    await jobs.succeed(id, { owner: "server", version, counts: sampleCounts, at: moment(1), data: {} });
  };
  const publish = async (step: number): Promise<void> => {
    await claim(`${step}`, step);
    await succeed(`${step}`, step);
  };
  for (const step of [1, 2]) await publish(step);
  await models.deleteVersions("m", [2], new Date(0));
  await claim("3", 3);
  await jobs.end("3", "cancelled", "cancelled", moment(1));
  await claim("4", 4);
  const make = (...names: readonly string[]): void => {
    for (const name of names) {
      mkdirSync(dirname(join(dataFolder, name)), { recursive: true });
      writeFileSync(join(dataFolder, name), "");
    }
  };
  const there = (...names: readonly string[]) => names.filter((name) => existsSync(join(dataFolder, name)));
  /** Records each job's work and each trainer state that the runner is asked to discard. */
  const discarded: string[] = [];
  const runner = {
    discardWork: async (jobId: string) => {
      discarded.push(`work of ${jobId}`);
      await folder.removeJob(jobId);
    },
    discardState: async (state: string) => {
      discarded.push(state);
      const [, step] = state.split("m:");
      await artifacts.remove(`adapters/m/${step}/optimizer.safetensors`);
    },
  };
  const sweep = (meanwhile: () => Promise<void> = async () => undefined) =>
    sweepDataFolder({
      hasOthers,
      clock: systemClock,
      artifacts,
      folder,
      root: dataFolder,
      models: {
        ...models,
        findVersion: async (...version) => {
          const found = await models.findVersion(...version);
          await meanwhile();
          return found;
        },
      },
      jobs,
      servers,
      runner,
      optimizerStatesKept: 2,
      logger: silentLogger,
    });
  const clock = new FakeClock();
  const stores = { models, jobs, servers };
  const sweepDead = createDeadServerSweep({
    ...stores,
    artifacts,
    runner,
    clock,
    graceMs: 60_000,
    logger: silentLogger,
  });
  const age = (name: string): void => utimesSync(join(dataFolder, name), new Date(0), new Date(0));
  return { make, there, age, sweep, sweepDead, clock, publish, succeed, jobs, discarded };
}

test("removes the remains of an earlier run, but nothing that may belong to another server", async (t) => {
  const { make, there, sweep, discarded } = await open(t);
  const going = [
    "jobs/3/step-2/optimizer.safetensors",
    "jobs/gone/step-2/optimizer.safetensors",
    ".disk-check-7",
    "cache/weights.7.partial",
    "adapters/m/2/adapter_config.json",
    "adapters/m/3/adapter_config.json",
    "work/gone/adapters+m+5.0190/adapter_model.safetensors",
    "work/gone/0190/sent.tar",
  ];
  const staying = [
    "hone.json",
    "jobs/4/step-2.json",
    "jobs/4/step-2/optimizer.safetensors",
    "jobs/4/current-logprobs.safetensors",
    "work/server/adapters+m+6.0190/adapter_model.safetensors",
    "cache/weights.safetensors",
    "adapters/m/1/adapter_config.json",
    "adapters/m/4/adapter_config.json",
    "adapters/m/5/adapter_config.json",
    "adapters/m/notes/text",
    "adapters/unknown/1/adapter_config.json",
  ];
  make(...going, ...staying);
  await sweep();
  assert.deepEqual(there(...going, "adapters/m/2", "jobs/3", "jobs/gone"), []);
  assert.deepEqual(discarded.toSorted(), ["state of m:2", "work of 3", "work of gone"]);
  assert.deepEqual(there(...staying), staying);
});

test("removes the remains of dead servers while jobs run, but not the files of live servers", async (t) => {
  const { make, there, sweepDead, clock, discarded } = await open(t);
  const going = [
    "work/gone/adapters+m+5.0190/adapter_model.safetensors",
    `work/gone/${encodeURIComponent("adapters/none/1")}.held`,
    "adapters/none/1/adapter_config.json",
    "jobs/3/step-2/optimizer.safetensors",
  ];
  const staying = [
    "jobs/4/step-2/optimizer.safetensors",
    "work/server/adapters+m+6.0190/adapter_model.safetensors",
    `work/gone/${encodeURIComponent("adapters/m/1")}.held`,
    "adapters/m/1/adapter_config.json",
    "adapters/m/5/adapter_config.json",
    "cache/weights.7.partial",
  ];
  make(...going, ...staying);
  await sweepDead();
  await clock.advance(59_000);
  await sweepDead();
  // Within the grace period, the server's artifacts are kept, because a missing server may only have lost its lease.
  assert.deepEqual(there(...going), going.slice(0, 3));
  await clock.advance(1000);
  await sweepDead();
  assert.deepEqual(there(...going), []);
  assert.deepEqual(
    there(...staying),
    staying.filter((name) => !name.startsWith("work/gone")),
  );
  assert.deepEqual(discarded, ["work of 3"]);
});

test("keeps a version that another server's job publishes during the sweep", async (t) => {
  const { make, there, sweep, succeed } = await open(t);
  const name = "adapters/m/4/adapter_config.json";
  make(name);
  let isMade = false;
  await sweep(async () => {
    if (!isMade) await succeed("4", 4);
    isMade = true;
  });
  assert.deepEqual(there(name), [name]);
});

test("removes only the optimizer states of versions that are not among the newest", async (t) => {
  const { make, there, sweep, publish, jobs, discarded } = await open(t);
  await jobs.end("4", "cancelled", "cancelled", moment(1));
  for (const step of [5, 6]) await publish(step);
  const files = [1, 5, 6].flatMap((step) => [
    `adapters/m/${step}/adapter_model.safetensors`,
    `adapters/m/${step}/optimizer.safetensors`,
  ]);
  make(...files);
  await sweep();
  assert.deepEqual(
    there(...files),
    files.filter((file) => file !== "adapters/m/1/optimizer.safetensors"),
  );
  assert.deepEqual(discarded, ["state of m:2", "state of m:1"]);
});

test("keeps a recent unregistered adapter if other servers exist, but removes the remains of ended jobs", async (t) => {
  const { make, there, age, sweep } = await open(t, { hasOthers: true });
  make("adapters/m/2/adapter_config.json", "adapters/m/3/adapter_config.json", "jobs/3/step-1/optimizer");
  await sweep();
  assert.deepEqual(there("adapters/m/2", "adapters/m/3", "jobs/3"), ["adapters/m/2", "adapters/m/3"]);
  for (const step of [2, 3]) age(`adapters/m/${step}`);
  await sweep();
  assert.deepEqual(there("adapters/m/2", "adapters/m/3"), []);
});

test("creates nothing in an empty data folder", async (t) => {
  const { there, sweep } = await open(t);
  await sweep();
  assert.deepEqual(there("jobs", "adapters"), []);
});
