// Tests that missing and truncated adapters are found and reported with the model's id.
import assert from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { FakeClock } from "../../../base/domain/testing/fake-clock.ts";
import { adapterFolderOf } from "../../../base/domain/model.ts";
import { sampleModel, sampleVersion } from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { silentLogger } from "../../../base/telemetry/testing/silent-logger.ts";
import { createAdapterCheck } from "./adapter-check.ts";

test("reports missing and truncated adapters until they are repaired", async (t) => {
  const dataFolder = mkdtempSync(join(tmpdir(), "hone-adapters-"));
  t.after(() => rmSync(dataFolder, { recursive: true }));
  const { artifacts } = dataFolderAt(dataFolder);
  const { models } = await storesInMemory();
  const clock = new FakeClock();
  for (const [id, step] of [
    ["base", 0],
    ["whole", 1],
    ["cut", 2],
  ] as const)
    await models.create(sampleModel(id), sampleVersion(id, step));
  const folderOf = (id: string, step: number) => join(dataFolder, adapterFolderOf(id, step));
  const write = (id: string, step: number): void => {
    mkdirSync(dirname(folderOf(id, step)), { recursive: true });
    cpSync("test/fixtures/goldens/training/adapter", folderOf(id, step), { recursive: true });
  };
  write("whole", 1);
  const check = createAdapterCheck({ models, artifacts, clock, logger: silentLogger });
  await assert.rejects(check(), { code: "internal", message: /^The adapter of cut:step2 cannot be read/ });
  write("cut", 2);
  await assert.rejects(check(), "the result is cached");
  await clock.advance(10_000);
  await check();
  truncateSync(join(folderOf("cut", 2), "adapter_model.safetensors"), 2000);
  await clock.advance(10_000);
  await assert.rejects(check(), /cut:step2/);
});
