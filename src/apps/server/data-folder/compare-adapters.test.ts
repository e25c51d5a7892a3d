// Tests that a comparison of the database with the stored adapters shows whether the database has lost its last writes
// or belongs to another server.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import {
  moment,
  sampleJob,
  samplePins,
  storeModel,
  storeServer,
} from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { compareAdapters, comparisonFault } from "./compare-adapters.ts";

test("reports versions without adapters and adapters without versions until they are repaired", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-compare-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { models, jobs, servers } = await storesInMemory();
  await storeServer(servers);
  const { artifacts } = dataFolderAt(dataFolder);
  const stores = { artifacts, models, jobs };
  const compare = async () => {
    const found = await compareAdapters(stores);
    return { ...found, said: (await comparisonFault(found, stores))?.message ?? null };
  };
  assert.deepEqual(await compare(), { missing: [], unknown: [], said: null });
  await storeModel(models, "m");
  const draft = { modelId: "m", metrics: {}, base: null, adapterHash: null, createdAt: moment(1) };
  for (const id of ["v", "w"])
    await models.addVersion({ ...draft, id }, async (step) => `adapters/m/${step}`);
  await models.deleteVersions("m", [2], new Date(0));
  await jobs.create(sampleJob("j", "m"), [], null);
  await jobs.claim("server", moment(0));
  await jobs.pin("j", "server", { ...samplePins, resultStep: 3 });
  const make = (...names: readonly string[]): void =>
    names.forEach((name) => mkdirSync(join(dataFolder, name), { recursive: true }));
  // None of these is a fault: remains of a deleted version, an adapter about to be published, and a folder that is not
  // the server's.
  make("adapters/m/1", "adapters/m/2", "adapters/m/3", "adapters/m/notes");
  assert.deepEqual(await compare(), { missing: [], unknown: [], said: null });
  make("adapters/m/4", "adapters/lost/1");
  rmSync(join(dataFolder, "adapters/m/1"), { recursive: true });
  const found = await compareAdapters(stores);
  assert.deepEqual(found.missing, ["adapters/m/1"]);
  assert.deepEqual(found.unknown.toSorted(), ["adapters/lost/1", "adapters/m/4"]);
  assert.match(
    (await comparisonFault(found, stores))?.message ?? "",
    /adapters\/m\/1 is missing, and the database does not know .*may have lost/,
  );
  make("adapters/m/1");
  rmSync(join(dataFolder, "adapters/lost"), { recursive: true });
  assert.match(
    (await comparisonFault(found, stores))?.message ?? "",
    /^In the data folder the database does not know adapters\/m\/4\./,
  );
  rmSync(join(dataFolder, "adapters/m/4"), { recursive: true });
  assert.equal(await comparisonFault(found, stores), null);
});

test("reports no fault once another server has finished publishing or deleting", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-compare-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { models, jobs } = await storesInMemory();
  const { artifacts } = dataFolderAt(dataFolder);
  const stores = { artifacts, models, jobs };
  await storeModel(models, "m");
  const draft = { modelId: "m", metrics: {}, base: null, adapterHash: null, createdAt: moment(1) };
  const addVersion = (id: string) =>
    models.addVersion({ ...draft, id }, async (step) => `adapters/m/${step}`);
  await addVersion("deleted");
  mkdirSync(join(dataFolder, "adapters/m/2"), { recursive: true });
  const found = await compareAdapters(stores);
  assert.deepEqual(found, { missing: ["adapters/m/1"], unknown: ["adapters/m/2"] });
  assert.notEqual(await comparisonFault(found, stores), null);
  await models.deleteVersions("m", [1], new Date(0));
  await addVersion("published");
  assert.equal(await comparisonFault(found, stores), null);
});
