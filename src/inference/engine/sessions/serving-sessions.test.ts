import assert from "node:assert/strict";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { cacheDims } from "../../../lib/graph/cache-products.ts";
import { float32Tensor, int64Tensor, type Tensor } from "../../../lib/graph/tensor.ts";
import { bytesOf, type WeightSource } from "../../../lib/graph/weight-source.ts";
import type { ModelConfig } from "../../architectures/config.ts";
import { readModelConfig } from "../../architectures/config/read-config.ts";
import { readModelWeights, readQuantizedWeights } from "../../architectures/weights.ts";
import { cacheNames, cacheShapes } from "../../architectures/serving/sequence-memory.ts";
import { withArrangedWeights, writeArrangedWeights } from "../../onnx/arranged-weights.ts";
import { integerKernels } from "../../onnx/integer-kernels.ts";
import { layOutFirstParts } from "../part-layout.ts";
import type { KvLane } from "../cache/kv-lane.ts";
import type { PromptPart } from "../model-runner.ts";
import { LateWeights } from "./late-weights.ts";
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

const untilIdle = (): Promise<void> => Promise.resolve();
const fail = (error: unknown): never => assert.fail(error as Error); // Safe cast: only errors are thrown.
const lane = { lengths: [0], shape: { states: [] } } as unknown as KvLane; // Safe cast: the layout reads no more.

test("prompts have the same bits before and after the 8-bit weights of their session are arranged", async () => {
  const folder = "test/fixtures/goldens/models/qwen3";
  const config = readModelConfig(folder);
  const read = { cacheFolder: null, kernels: await integerKernels(null) };
  for (const quantization of ["8", "4", "off"] as const) {
    const { sources: weights, forms } = readQuantizedWeights(folder, config, { ...read, quantization });
    const sessions = new ServingSessions({ config, weights, forms, threads: 2 });
    await sessions.prepare(graphsOfEveryRequest({ config, forms }), { arrangesLater: true });
    const before = await sessions.get("first", null);
    const feeds = promptFeeds(config);
    const expected = await before.run(feeds);
    for (const task of sessions.furtherTasks().slice(0, 1)) await task(untilIdle);
    const after = await sessions.get("first", null);
    assert.equal(after === before, quantization === "off", "only sums of codes are exact in any order");
    assert.deepEqual(await after.run(feeds), expected);
    await sessions.close();
  }
});

for (const quantization of ["8", "4"] as const)
  test(`in ${quantization} bits, all sessions have the same bits before and after the weights are written`, async () => {
    const folder = "test/fixtures/goldens/models/qwen3";
    const config = readModelConfig(folder);
    const cacheFolder = mkdtempSync(join(tmpdir(), "late-weights-"));
    const read = { cacheFolder: null, kernels: { codes: "int8", fourBits: true, rates: [] } as const };
    try {
      const { sources, forms } = readQuantizedWeights(folder, config, { ...read, quantization });
      const weights = inFile(join(cacheFolder, "weights"), sources);
      const graphs = graphsOfEveryRequest({ config, forms });
      const arranged = join(cacheFolder, "arranged");
      let paceCount = 0;
      const late = new LateWeights(async (pace) => {
        const counted = (): Promise<void> => (paceCount++, pace());
        await writeArrangedWeights(arranged, graphs.token, { weights, threads: 2, pace: counted });
        return present(withArrangedWeights(arranged, weights), "the written weights");
      }, fail);
      const sessions = new ServingSessions({ config, weights, forms, threads: 2 });
      await sessions.prepare(graphs, { late });
      const run = async (kind: GraphKind): Promise<unknown> =>
        (await sessions.get(kind, null)).run(kind === "token" ? tokenFeeds(config) : promptFeeds(config));
      const [token, first] = [await sessions.get("token", null), await sessions.get("first", null)];
      const expected = [await run("token"), await run("first")];
      assert.equal(existsSync(arranged), false, "the start does not wait for the file");
      const tasks = sessions.urgentTasks();
      await tasks[0]?.(untilIdle);
      assert.equal(existsSync(arranged), true);
      assert.ok(paceCount > config.layers.length, "the file is written in many steps");
      assert.equal(await sessions.get("token", null), token, "one idle moment for each task");
      for (const task of tasks.slice(1)) await task(untilIdle);
      assert.notEqual(await sessions.get("token", null), token);
      assert.notEqual(await sessions.get("first", null), first);
      assert.deepEqual([await run("token"), await run("first")], expected);
      await assert.rejects(token.run(tokenFeeds(config)), { code: "internal" }, "the first session is freed");
      await sessions.close();
    } finally {
      rmSync(cacheFolder, { recursive: true });
    }
  });

test("until the weights are written, other sessions multiply codes that are not arranged, or wait", async () => {
  const folder = "test/fixtures/goldens/models/qwen3";
  const config = readModelConfig(folder);
  const read = { cacheFolder: null, kernels: { codes: "int8", fourBits: true, rates: [] } as const };
  for (const quantization of ["8", "4"] as const) {
    const { sources: weights, forms } = readQuantizedWeights(folder, config, { ...read, quantization });
    let isIdle = false;
    const late = new LateWeights(async (pace) => {
      await pace();
      return weights;
    }, fail);
    const sessions = new ServingSessions({ config, weights, forms, threads: 1, takesDrafts: true });
    await sessions.prepare(graphsOfEveryRequest({ config, forms }), { late });
    const busy = new Promise<void>((resolve) =>
      setTimeout(() => resolve(void (isIdle = true)), 60_000).unref(),
    );
    const writing = present(sessions.urgentTasks()[0], "the task that writes")(() => busy);
    const isWritten = async (): Promise<boolean> =>
      (await Promise.race([
        writing.then(() => true),
        new Promise((resolve) => setImmediate(resolve, false)),
      ])) === true;
    await sessions.get("later", null);
    assert.equal(await isWritten(), false, "a prompt's later part does not wait");
    await sessions.get("drafts", null);
    assert.equal(
      await isWritten(),
      quantization === "4",
      "4-bit weights have the same bits only if arranged",
    );
    assert.equal(isIdle, false);
    if (quantization === "8") await late.writtenSoon();
    await writing;
    await sessions.close();
  }
});

/** Writes weights in memory to a file. */
function inFile(file: string, sources: ReadonlyMap<string, WeightSource>): ReadonlyMap<string, WeightSource> {
  const places = new Map<string, WeightSource>();
  const pieces: Uint8Array[] = [];
  let offset = 0;
  for (const [name, source] of sources) {
    const bytes = bytesOf("data" in source ? source.data : assert.fail(`${name} is in a file`));
    pieces.push(bytes, new Uint8Array(-bytes.length & 4095));
    places.set(name, { file, offset });
    offset += bytes.length + (-bytes.length & 4095);
  }
  writeFileSync(file, Buffer.concat(pieces));
  return places;
}

/** Returns inputs for the first parts of three prompts. */
function promptFeeds(config: ModelConfig): Readonly<Record<string, Tensor>> {
  const parts = [3, 9, 40].map((count, slot): PromptPart => ({
    slot,
    tokenIds: Array.from({ length: count }, (_, index) => (7 * index + slot) % config.vocabularySize),
    logits: "all",
  }));
  return layOutFirstParts(lane, parts).feeds;
}

/** Returns inputs for two rows of an empty cache. */
function tokenFeeds(config: ModelConfig): Readonly<Record<string, Tensor>> {
  const caches = cacheShapes(config).flatMap(({ kvHeadCount, headSize }, layer) => {
    const dims = cacheDims(2, kvHeadCount, 8, headSize);
    const zeros = float32Tensor(dims, new Float32Array(dims.reduce((product, size) => product * size, 1)));
    const names = cacheNames(layer);
    return [
      [names.keys, zeros],
      [names.values, zeros],
    ] as const;
  });
  const rows = { tokens: int64Tensor([2, 1], [5, 7]), past_lengths: int64Tensor([2], [0, 0]) };
  return { ...rows, ...Object.fromEntries(caches) };
}
