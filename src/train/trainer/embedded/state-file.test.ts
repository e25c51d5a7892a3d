// Tests state files in four cases: next to a published adapter, in a separate folder, damaged, and of another model.
import assert from "node:assert/strict";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { dataFolderAt } from "../../../store/artifacts/testing/data-folder.ts";
import { createLoraAdapter } from "../../../inference/architectures/lora.ts";
import { writeLoraAdapter } from "../../../inference/architectures/peft-folder.ts";
import { readSafetensorsHeader } from "../../../lib/model-files/safetensors.ts";
import { adamWStep, createAdamWState, reinforcementLearningAdamW } from "../adamw.ts";
import { tinyConfig, tinyLora, trainedAdapter } from "../contract/tiny-model.ts";
import { discardState } from "./profile.ts";
import { type KeptState, readState, writeState } from "./state-file.ts";

const dataFolder = mkdtempSync(join(tmpdir(), "hone-state-"));
after(() => rmSync(dataFolder, { recursive: true }));

const { artifacts } = dataFolderAt(dataFolder);
const place = { artifacts, config: tinyConfig };

/** Returns the state of a trainer after one optimizer step. */
function someState(): KeptState {
  const adapter = trainedAdapter();
  const optimizer = createAdamWState(adapter.matrices);
  const options = { ...reinforcementLearningAdamW, learningRate: 0.1 };
  adamWStep(optimizer, adapter.matrices, trainedAdapter().matrices, options);
  return { adapter, optimizer };
}

function publish(name: string, { adapter }: KeptState): string {
  const folder = join(dataFolder, name);
  mkdirSync(folder);
  writeLoraAdapter(folder, adapter, { config: tinyConfig, baseModelName: "tiny" });
  return folder;
}

test("reads back what it wrote, and removing it removes its folder", async () => {
  const kept = someState();
  assert.equal(kept.optimizer.stepCount, 1);
  const state = await writeState(place, "jobs/j/alone", kept);
  assert.deepEqual(await readState(place, state), kept);
  for (let call = 0; call < 2; call++) await discardState(artifacts, state);
  assert.equal(existsSync(join(dataFolder, "jobs/j/alone")), false);
  await assert.rejects(readState(place, state), { name: "ServiceError", code: "not_found" });
});

test("does not store the adapter published in the same folder again, and keeps it when the state is removed", async () => {
  const kept = someState();
  const folder = publish("published", kept);
  const state = await writeState(place, "published", kept);
  const { tensors } = readSafetensorsHeader(join(dataFolder, state));
  assert.equal(tensors.size, 2 * kept.adapter.matrices.size);
  assert.deepEqual(await readState(place, state), kept);
  await discardState(artifacts, state);
  assert.ok(readFileSync(join(folder, "adapter_model.safetensors")).length > 0);
});

test("does not take another adapter in the folder for its own", async () => {
  publish("other", {
    ...someState(),
    adapter: createLoraAdapter(tinyConfig, { ...tinyLora, seed: "other" }),
  });
  const kept = someState();
  assert.deepEqual(await readState(place, await writeState(place, "other", kept)), kept);
});

test("refuses a state of another model", async () => {
  const state = await writeState(place, "strange", someState());
  const wider = { ...tinyConfig, intermediateSize: 2 * tinyConfig.intermediateSize };
  await assert.rejects(readState({ artifacts, config: wider }, state), {
    name: "ServiceError",
    code: "invalid",
  });
});
