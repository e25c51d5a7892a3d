// Tests that versions published by other servers are loaded only if their model is in use.
import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { sampleModel, sampleVersion } from "../../../store/database/contract/storage-under-test.ts";
import { storesInMemory } from "../../../store/database/testing/stores-in-memory.ts";
import { PublishedVersions } from "./published-versions.ts";

/** Creates two models with version 0: `m`, which requests use, and `n`. */
async function open(t: TestContext) {
  const { models, announcements } = await storesInMemory();
  for (const id of ["m", "n"]) await models.create(sampleModel(id), sampleVersion(id, 0));
  const prepared: string[] = [];
  const faults: string[] = [];
  /** Functions that tell listeners that announcements may be missing, as after a lost connection. */
  const gaps: (() => void)[] = [];
  let wake: () => void = () => undefined;
  const published = new PublishedVersions({
    announcements: {
      listen: (kind, hear) => {
        gaps.push(() => hear(null));
        return announcements.listen(kind, hear);
      },
    },
    store: models,
    modelsInUse: () => new Set(["m", "gone"]),
    prepareVersion: async ({ modelId, step }, baseModel) => {
      prepared.push(`${modelId}:${step} over ${baseModel}`);
      wake();
      if (step === 2) throw new Error("it is broken");
    },
    onFault: (error, modelId) => {
      faults.push(`${modelId}: ${String(error)}`);
      wake();
    },
  });
  t.after(() => published.stop());
  await published.start();
  const publish = async (modelId: string, step: number): Promise<void> => {
    const { id, metrics, base, adapterHash, createdAt } = sampleVersion(modelId, step);
    const draft = { id, modelId, metrics, base, adapterHash, createdAt };
    await models.addVersion(draft, async () => `adapters/${modelId}/${step}`);
  };
  const until = async (holds: () => boolean): Promise<void> => {
    while (!holds()) await new Promise<void>((resolve) => (wake = resolve));
  };
  return { published, publish, prepared, faults, gap: () => gaps.forEach((call) => call()), until };
}

test("loads a new version only if its model is in use", async (t) => {
  const { published, publish, prepared, until } = await open(t);
  await publish("n", 1);
  await publish("m", 1);
  await until(() => prepared.length > 0);
  assert.deepEqual(prepared, ["m:1 over tiny"]);
  await published.stop();
  await publish("m", 2);
  assert.deepEqual(prepared, ["m:1 over tiny"]);
});

test("reports a version that cannot be loaded, loads the next, and after a gap the newest of each model", async (t) => {
  const { publish, prepared, faults, gap, until } = await open(t);
  await publish("m", 1);
  await until(() => prepared.length === 1);
  await publish("m", 2);
  await until(() => faults.length === 1);
  assert.deepEqual(faults, ["m: Error: it is broken"]);
  await publish("m", 3);
  await until(() => prepared.length === 3);
  gap();
  await until(() => prepared.length === 4);
  assert.deepEqual(prepared.at(-1), "m:3 over tiny");
});
