import assert from "node:assert/strict";
import { test } from "node:test";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights, readQuantizedWeights } from "../../architectures/weights.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";
import { layOutFirstParts } from "../part-layout.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { PromptPart } from "../model-runner.ts";
import { type GraphKind, graphsOfEveryRequest, ServingSessions } from "./serving-sessions.ts";

test("the sessions that every request needs exist before the first, and others are created on demand", async () => {
  const folder = "test/fixtures/goldens/models/qwen3";
  const config = readModelConfig(folder);
  const weights = readModelWeights(folder, config, { cacheFolder: null });
  const sessions = new ServingSessions({ config, weights, threads: 1 });
  /** True if the session exists. While it is being created, its promise loses the race against the resolved promise. */
  const isThere = async (kind: GraphKind): Promise<boolean> =>
    (await Promise.race([sessions.get(kind, null), Promise.resolve(null)])) !== null;
  await sessions.prepare(graphsOfEveryRequest({ config }));
  assert.deepEqual(
    [await isThere("token"), await isThere("first"), await isThere("later-single")],
    [true, true, false],
  );
  await sessions.close();
});

test("prompts have the same bits before and after the 8-bit weights of their session are arranged", async () => {
  const folder = "test/fixtures/goldens/models/qwen3";
  const config = readModelConfig(folder);
  const read = { cacheFolder: null, kernels: await integerKernels(null) };
  for (const quantization of ["8", "4", "off"] as const) {
    const { sources: weights, forms } = readQuantizedWeights(folder, config, { ...read, quantization });
    const sessions = new ServingSessions({ config, weights, forms, threads: 2 });
    await sessions.prepare(graphsOfEveryRequest({ config, forms }), { arrangesLater: true });
    const before = await sessions.get("first", null);
    const lane = { lengths: [0], shape: { states: [] } } as unknown as KvLane; // Safe cast: the layout reads no more.
    const parts = [3, 9, 40].map((count, slot): PromptPart => ({
      slot,
      tokenIds: Array.from({ length: count }, (_, index) => (7 * index + slot) % config.vocabularySize),
      logits: "all",
    }));
    const { feeds } = layOutFirstParts(lane, parts);
    const expected = await before.run(feeds);
    for (const task of sessions.furtherTasks().slice(0, 2)) await task();
    const after = await sessions.get("first", null);
    assert.equal(after === before, quantization === "off", "only sums of codes are exact in any order");
    assert.deepEqual(await after.run(feeds), expected);
    await sessions.close();
  }
});
