// Tests where a session gets weights from: memory, the model's own file, or a file that is converted once.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  cpSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { ModelConfig } from "./config.ts";
import { readModelConfig } from "./config/read-config.ts";
import { isRotaryTable } from "./decoder.ts";
import { modelParameters } from "./parameters.ts";
import { createRandomWeights, writeModelWeights } from "./testing/random-weights.ts";
import type { Quantization } from "../../base/domain/model.ts";
import { float32Data, float32Tensor, int64Tensor, type Tensor } from "../../lib/graph/tensor.ts";
import { type Dense, toDense } from "../../lib/graph/testing/dense.ts";
import { interpret } from "../../lib/graph/testing/interpret.ts";
import { byteLengthOf, bytesOf, type WeightSource } from "../../lib/graph/weight-source.ts";
import { createSession } from "../onnx/session.ts";
import { rotated } from "./quantized/rotation.ts";
import { keptParts, partNames, trainedParts, weightUseFor } from "./quantized/weight-forms.ts";
import { buildDecodeGraph, buildPrefillGraph } from "./serving-graphs.ts";
import { cacheNames } from "./serving/sequence-memory.ts";
import {
  type ModelWeights,
  openQuantizedWeights,
  readInt8TrainingWeights,
  readModelWeights,
  readQuantizedWeights,
} from "./weights.ts";
import { writeSafetensors } from "../../lib/model-files/write-safetensors.ts";
import { everyKernel } from "../../base/domain/kernels/integer-kernels.ts";
import { integerKernels } from "../onnx/integer-kernels.ts";

const scratch = mkdtempSync(join(tmpdir(), "hone-weights-"));
after(() => rmSync(scratch, { recursive: true }));

const gemma = "test/fixtures/goldens/models/gemma3";

function values(source: WeightSource<"float32">, size: number): Float32Array {
  if ("data" in source) return source.data;
  const bytes = readFileSync(source.file).subarray(source.offset, source.offset + 4 * size);
  return new Float32Array(new Uint8Array(bytes).buffer);
}

function checkSame(
  config: ModelConfig,
  left: ReadonlyMap<string, WeightSource<"float32">>,
  right: ReadonlyMap<string, WeightSource<"float32">>,
): void {
  assert.deepEqual([...left.keys()].sort(), [...right.keys()].sort());
  for (const { name, shape } of modelParameters(config)) {
    const size = shape.reduce((product, length) => product * length, 1);
    assert.deepEqual(values(left.get(name)!, size), values(right.get(name)!, size), name);
  }
}

test("converts large models once into a file that replaces their earlier ones", () => {
  const config = readModelConfig(gemma);
  const folder = mkdtempSync(join(scratch, "gemma-"));
  cpSync(gemma, folder, { recursive: true });
  const cacheFolder = join(scratch, "cache");
  const options = { cacheFolder, memoryBytesMax: 1000 };
  const inMemory = readModelWeights(folder, config, { cacheFolder: null });
  assert.throws(() => readModelWeights(folder, config, { ...options, isReadOnly: true }), /is missing/);
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  const [first, ...others] = readdirSync(cacheFolder);
  assert.deepEqual(others, []);
  const { ino: node } = statSync(join(cacheFolder, first));
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  assert.deepEqual(readdirSync(cacheFolder), [first]);
  assert.equal(statSync(join(cacheFolder, first)).ino, node, "a converted file is not written again");
  utimesSync(join(folder, "model.safetensors"), 1000, 1000);
  checkSame(config, readModelWeights(folder, config, options), inMemory);
  assert.equal(readdirSync(cacheFolder).length, 1);
  assert.notEqual(readdirSync(cacheFolder)[0], first);
});

test("writes the rotary tables of a large model into a file that sessions share, if asked to", () => {
  const config = readModelConfig(gemma);
  const cacheFolder = join(scratch, "tables");
  const inMemory = readModelWeights(gemma, config, { cacheFolder: null, sharesTables: true });
  const shared = { cacheFolder, sharesTables: true, memoryBytesMax: 1000 };
  const inFiles = readModelWeights(gemma, config, shared);
  checkSame(config, inFiles, inMemory);
  for (const [name, source] of inMemory) {
    if (!isRotaryTable(name)) continue;
    assert.ok("data" in source);
    const there = inFiles.get(name)!;
    assert.ok("file" in there && there.file.endsWith(".rotary"));
    assert.deepEqual(values(there, source.data.length), source.data);
  }
  const shorter = { ...config, contextLength: 16 };
  assert.throws(() => readModelWeights(gemma, shorter, { ...shared, isReadOnly: true }), /is missing/);
  readModelWeights(gemma, shorter, shared);
  assert.equal(readdirSync(cacheFolder).filter((name) => name.endsWith(".rotary")).length, 1);
});

test("uses float32 files in place", () => {
  const config = readModelConfig("test/fixtures/goldens/models/qwen2");
  const weights = createRandomWeights(config, { seed: 1 });
  const folder = mkdtempSync(join(scratch, "float32-"));
  writeModelWeights(folder, config, { weights, type: "F32" });
  const sources = readModelWeights(folder, config, { cacheFolder: null });
  for (const [name, data] of weights) {
    const source = sources.get(name)!;
    assert.ok("file" in source);
    assert.deepEqual(values(source, data.length), data);
  }
});

test("adds one to Gemma's norms when reading, and subtracts it when writing", () => {
  const config = readModelConfig(gemma);
  const weights = createRandomWeights(config, { seed: 2 });
  const folder = mkdtempSync(join(scratch, "norms-"));
  writeModelWeights(folder, config, { weights, type: "BF16" });
  const read = readModelWeights(folder, config, { cacheFolder: null });
  const norm = values(read.get("model.layers.0.self_attn.q_norm.weight")!, 16);
  assert.ok(norm.every((value) => value === 1));
});

test("names missing, misshapen and unknown tensors", () => {
  const config = readModelConfig("test/fixtures/goldens/models/llama");
  const weights = createRandomWeights(config, { seed: 3 });
  const folder = mkdtempSync(join(scratch, "faulty-"));
  const tensors = modelParameters(config)
    .filter(({ name }) => name !== "model.layers.1.mlp.up_proj.weight")
    .map(({ name, shape }) => ({ name, shape: shape.toReversed(), data: weights.get(name)! }));
  const unknown = { name: "vision.weight", shape: [1], data: Float32Array.of(0) };
  writeSafetensors(join(folder, "model.safetensors"), [...tensors, unknown], { type: "F32" });
  assert.throws(
    () => readModelWeights(folder, config, { cacheFolder: null }),
    (error: Error) => {
      assert.match(error.message, /model\.embed_tokens\.weight is \[64, 512\].*\[512, 64\]/);
      assert.match(error.message, /and \d+ more/);
      return true;
    },
  );
  const fitting = modelParameters(config).map(({ name, shape }) => ({
    name,
    shape,
    data: weights.get(name)!,
  }));
  writeSafetensors(join(folder, "model.safetensors"), [...fitting.slice(1), unknown], { type: "F32" });
  assert.throws(
    () => readModelWeights(folder, config, { cacheFolder: null }),
    /model\.embed_tokens\.weight is missing; vision\.weight is unknown/,
  );
});

test("ignores redundant tensors of older files: frequencies, and a tied output projection", () => {
  const tied = readModelConfig("test/fixtures/goldens/models/qwen2");
  const frequencies = {
    name: "model.layers.0.self_attn.rotary_emb.inv_freq",
    shape: [1],
    data: Float32Array.of(1),
  };
  const projection = { name: "lm_head.weight", shape: [1], data: Float32Array.of(1) };
  const read = (config: ModelConfig, others: readonly (typeof projection)[]) => {
    const weights = createRandomWeights(config, { seed: 4 });
    const tensors = modelParameters(config).map(({ name, shape }) => ({
      name,
      shape,
      data: weights.get(name)!,
    }));
    const folder = mkdtempSync(join(scratch, "older-"));
    writeSafetensors(join(folder, "model.safetensors"), [...tensors, ...others], { type: "F32" });
    return readModelWeights(folder, config, { cacheFolder: null });
  };
  assert.deepEqual([...read(tied, [frequencies, projection]).keys()], [...read(tied, []).keys()]);
  const untied = readModelConfig("test/fixtures/goldens/models/llama");
  assert.deepEqual([...read(untied, [frequencies]).keys()], [...read(untied, []).keys()]);
});

test("quantizes weights once per model, and again for other bits", () => {
  const folder = mkdtempSync(join(scratch, "quantized-"));
  cpSync("test/fixtures/goldens/models/llama", folder, { recursive: true });
  const config = readModelConfig(folder);
  const cacheFolder = join(scratch, "quantized-cache");
  const read = (quantization: Quantization, folderOfCache: string | null): ModelWeights =>
    readQuantizedWeights(folder, config, {
      cacheFolder: folderOfCache,
      memoryBytesMax: 1000,
      quantization,
      kernels: everyKernel,
    });
  const filesOf = (): readonly string[] => readdirSync(cacheFolder);
  for (const quantization of ["8", "4"] as const) {
    const { sources, forms } = read(quantization, cacheFolder);
    const inMemory = read(quantization, null);
    assert.deepEqual(forms, inMemory.forms);
    assert.deepEqual([...sources.keys()].sort(), [...inMemory.sources.keys()].sort());
    const parts = modelParameters(config).flatMap((parameter) =>
      keptParts(parameter, forms.get(parameter.name) ?? "float32", weightUseFor(parameter.name, config)),
    );
    for (const part of parts) {
      const [source, expected] = [sources.get(part.name)!, inMemory.sources.get(part.name)!];
      assert("file" in source && "data" in expected, part.name);
      const length = byteLengthOf(part);
      const bytes = readFileSync(source.file).subarray(source.offset, source.offset + length);
      assert.deepEqual(new Uint8Array(bytes), bytesOf(expected.data).slice(), part.name);
    }
    const ending = quantization === "8" ? ".int8" : ".quantized";
    const [file, ...others] = filesOf().filter((name) => name.endsWith(ending));
    assert.deepEqual(others, []);
    const { ino: node } = statSync(join(cacheFolder, file));
    read(quantization, cacheFolder);
    assert.equal(statSync(join(cacheFolder, file)).ino, node, "an existing file is not written again");
  }
});

test("reports the progress of writing converted weights, and none if they are cached", () => {
  const folder = "test/fixtures/goldens/models/llama";
  const config = readModelConfig(folder);
  const cacheFolder = join(scratch, "progress-cache");
  const seen: number[] = [];
  const read = (): unknown =>
    readQuantizedWeights(folder, config, {
      cacheFolder,
      memoryBytesMax: 1000,
      quantization: "8",
      kernels: everyKernel,
      onProgress: (percent) => seen.push(percent),
    });
  read();
  assert.ok(seen.length > 1 && seen.every((percent) => percent % 10 === 0), seen.join());
  assert.deepEqual(
    seen,
    [...new Set(seen)].sort((one, other) => one - other),
  );
  assert.equal(seen.at(-1), 100);
  seen.length = 0;
  read();
  assert.deepEqual(seen, []);
});

test("tables converted a few rows at a time give the same file", () => {
  const folder = "test/fixtures/goldens/models/gemma4";
  const config = readModelConfig(folder);
  for (const quantization of ["off", "8"] as const) {
    const [whole, inPieces] = [2 ** 26, 500].map((pieceValues) => {
      const cacheFolder = mkdtempSync(join(scratch, "pieces-"));
      const options = { cacheFolder, memoryBytesMax: 1000, pieceValues, quantization };
      readQuantizedWeights(folder, config, { ...options, kernels: everyKernel });
      return readdirSync(cacheFolder).map((name) => readFileSync(join(cacheFolder, name)));
    });
    assert.equal(whole.length, 1);
    assert.deepEqual(inPieces, whole, quantization);
  }
});

for (const [name, quantization] of [
  ["llama", "8"],
  ["llama", "4"],
  ["gemma4", "8"],
  ["gemma4", "off"],
] as const) {
  test(`several threads write the same file as one: ${name} with ${quantization}`, async () => {
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const optionsOf = (): Parameters<typeof openQuantizedWeights>[2] & { readonly cacheFolder: string } => ({
      cacheFolder: mkdtempSync(join(scratch, "threads-")),
      memoryBytesMax: 1000,
      quantization,
      kernels: everyKernel,
      threads: 2,
    });
    const [plain, ...byThreads] = [optionsOf(), optionsOf(), { ...optionsOf(), pieceValues: 2000 }];
    const filesIn = ({ cacheFolder }: typeof plain): readonly Buffer[] =>
      readdirSync(cacheFolder).map((file) => readFileSync(join(cacheFolder, file)));
    const seen: number[] = [];
    readQuantizedWeights(folder, config, plain);
    assert.equal(filesIn(plain).length, 1);
    for (const options of byThreads) {
      const onProgress = (percent: number): unknown => seen.push(percent);
      const { forms } = await openQuantizedWeights(folder, config, { ...options, onProgress });
      assert.equal(forms.size > 0, quantization !== "off");
      assert.deepEqual(filesIn(options), filesIn(plain));
    }
    assert.equal(seen.at(-1), 100);
  });
}

test("threads that fail leave no file", async () => {
  const folder = mkdtempSync(join(scratch, "failing-"));
  cpSync("test/fixtures/goldens/models/llama", folder, { recursive: true });
  const config = readModelConfig(folder);
  const cacheFolder = mkdtempSync(join(scratch, "failing-cache-"));
  const options = { cacheFolder, memoryBytesMax: 1000, quantization: "8", kernels: everyKernel } as const;
  const opening = openQuantizedWeights(folder, config, { ...options, threads: 2 });
  // The header has been read, and the threads find that the values are missing.
  truncateSync(join(folder, "model.safetensors"), 20_000);
  await assert.rejects(opening, { code: "invalid" });
  assert.deepEqual(readdirSync(cacheFolder), []);
});

test("a conversion removes partial files of crashed processes", () => {
  const folder = "test/fixtures/goldens/models/llama";
  const config = readModelConfig(folder);
  const cacheFolder = mkdtempSync(join(scratch, "abandoned-"));
  const options = { cacheFolder, memoryBytesMax: 1000, quantization: "8", kernels: everyKernel } as const;
  readQuantizedWeights(folder, config, options);
  const [name] = readdirSync(cacheFolder);
  rmSync(join(cacheFolder, name));
  const ended = spawnSync(process.execPath, ["--version"]).pid;
  const kept = [`${name}.${process.ppid}.partial`, `other.${ended}.partial`, `${name}.${ended}.partial.txt`];
  for (const partial of [...kept, `${name}.${ended}.partial`]) writeFileSync(join(cacheFolder, partial), "");
  readQuantizedWeights(folder, config, options);
  assert.deepEqual(readdirSync(cacheFolder).sort(), [name, ...kept].sort());
});

test("training over 8 bits uses the served weights and their file", () => {
  for (const [name, form] of [
    ["llama", "int8"],
    ["qwen2", "uint8"],
  ] as const) {
    const kernels = { codes: form, fourBits: false };
    const folder = `test/fixtures/goldens/models/${name}`;
    const config = readModelConfig(folder);
    const options = { cacheFolder: join(scratch, `int8-cache-${name}`), memoryBytesMax: 1000, kernels };
    const served = readQuantizedWeights(folder, config, { ...options, quantization: "8" });
    const { sources, forms } = readInt8TrainingWeights(folder, config, options);
    assert.deepEqual(forms, served.forms);
    assert.deepEqual(sources, served.sources);
    const parts = trainedParts(config, forms);
    for (const part of parts) assert.ok(sources.has(part.name), part.name);
    const endings = readdirSync(options.cacheFolder).map((file) => file.replace(/^[^.]*/, ""));
    assert.deepEqual(endings, [".int8"]);
    // The codes of a tied embedding are stored as rows and as columns, and only one of them is mapped.
    const codes = parts.filter(({ dtype }) => dtype === form);
    assert.equal(new Set(codes.map(({ name: part }) => part.replace(/\.[^.]*$/, ""))).size, codes.length);
  }
});

/** Returns inputs for a prompt of five tokens, or for one token after eleven earlier tokens. */
function feedsOf(kind: "prompt" | "token", config: ModelConfig): Readonly<Record<string, Tensor>> {
  if (kind === "prompt") {
    return { tokens: int64Tensor([1, 5], [3, 1, 4, 1, 5]), places: int64Tensor([2], [2, 4]) };
  }
  const shape = [1, config.kvHeadCount, 1, 64, config.headSize];
  const filled = (wave: number): Tensor =>
    float32Tensor(
      shape,
      Float32Array.from({ length: 64 * shape[1] * shape[4] }, (_, index) => Math.sin(wave * index)),
    );
  const caches = config.layers.flatMap((_, layer) => [
    [cacheNames(layer).keys, filled(layer + 1)] as const,
    [cacheNames(layer).values, filled(layer + 0.5)] as const,
  ]);
  return {
    tokens: int64Tensor([1, 1], [3]),
    past_lengths: int64Tensor([1], [11]),
    ...Object.fromEntries(caches),
  };
}

for (const [quantization, kind, codes] of [
  ["8", "prompt", "of this machine"],
  ["8", "token", "of this machine"],
  ["8", "prompt", "uint8"],
  ["8", "token", "uint8"],
  ["4", "prompt", "of this machine"],
  ["4", "token", "of this machine"],
] as const) {
  test(`the built graph of a ${kind} over ${quantization} bits gives the interpreter's result for the same codes, ${codes}`, async () => {
    const folder = "test/fixtures/goldens/models/llama";
    const config = readModelConfig(folder);
    const kernels = codes === "uint8" ? { codes, fourBits: false } : await integerKernels(null);
    const read = { cacheFolder: null, quantization, kernels };
    const { sources, forms } = readQuantizedWeights(folder, config, read);
    const build = kind === "prompt" ? buildPrefillGraph : buildDecodeGraph;
    const graph = build(config, { lora: null, forms });
    const feeds = feedsOf(kind, config);
    const session = await createSession(graph, { weights: sources, threads: 1 });
    const outputs = await session.run(feeds);
    await session.release();
    const dense: Record<string, Dense> = Object.fromEntries(
      Object.entries(feeds).map(([name, tensor]) => [name, toDense(tensor)]),
    );
    for (const { name, value } of graph.parameters) {
      const source = sources.get(name)!;
      assert("data" in source, name);
      dense[name] = { dims: value.shape.map(Number), data: Float64Array.from(source.data, Number) };
    }
    const expected = interpret(graph, dense)["logits"].data;
    const actual = float32Data(outputs["logits"]);
    const size = Math.max(...expected.map(Math.abs));
    // The tolerance allows for numbers halfway between two steps. Rounding them up or down depends on the last bit of
    // the scale.
    actual.forEach((value, index) => assert(Math.abs(value - expected[index]) < 0.01 * size));
  });
}

test("prompts and decoded tokens over 4 bits use the same model", () => {
  const folder = "test/fixtures/goldens/models/llama";
  const config = readModelConfig(folder);
  const { sources, forms } = readQuantizedWeights(folder, config, {
    cacheFolder: null,
    quantization: "4",
    kernels: everyKernel,
  });
  const dataOf = (name: string): ArrayLike<number> => {
    const source = sources.get(name)!;
    assert("data" in source, name);
    return source.data as ArrayLike<number>;
  };
  let count = 0;
  for (const { name, shape } of modelParameters(config)) {
    if (forms.get(name) !== "int4-offset") continue;
    count++;
    const [N, K] = shape;
    const names = partNames(name);
    const [codes, scales, offsets] = [names.codes, names.blockScales, names.offsets].map(dataOf);
    const ofTokens = Float32Array.from({ length: N * K }, (_, index) => {
      const [row, block] = [Math.floor(index / K), Math.floor((index % K) / 32)];
      const code = (codes[index >> 1] >> (4 * (index & 1))) & 15;
      return (code - 8) * scales[Math.floor(index / 32)] + offsets[block * N + row];
    });
    const [columns, rowScales] = [names.columns, names.scales].map(dataOf);
    rotated(ofTokens, K).forEach((value, index) => {
      const [row, k] = [Math.floor(index / K), index % K];
      const step = rowScales[row];
      assert(Math.abs(columns[k * N + row] * step - value) <= 0.5001 * step, `${name} ${index}`);
    });
  }
  assert(count > 0);
});
