// Tests arranged weights that are mapped from a file. They change no result and take no private memory, and unsuitable
// files are not used.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, readdirSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { seededRandom } from "../../base/domain/random.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import type { Graph, Value } from "../../lib/graph/graph.ts";
import { float32Data, float32Tensor } from "../../lib/graph/tensor.ts";
import { byteLengthOf, type WeightSource } from "../../lib/graph/weight-source.ts";
import { withArrangedWeights, writeArrangedWeights } from "./arranged-weights.ts";
import { createSession } from "./session.ts";

type Weights = ReadonlyMap<string, WeightSource>;

let folder = "";
beforeEach(() => (folder = mkdtempSync(join(tmpdir(), "arranged-"))));
afterEach(() => rmSync(folder, { recursive: true }));

/** Builds the graph of y = (x scale) Wᵀ, optionally plus a constant. */
function product(size: number, added = 0): Graph {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", size]);
  const scaled = builder.multiply(x, builder.parameter("scale", [size]));
  const y = builder.matMul(scaled, builder.parameter("w", [size, size]), { transposeB: true });
  return builder.build({ y: added === 0 ? y : builder.add(y, added) });
}

/** Writes a file of random weights for {@link product}. */
function randomWeights(size: number, seed: number): Weights {
  const random = seededRandom("arranged", seed);
  const values = Float32Array.from({ length: size * (size + 1) }, () => random.uniform() - 0.5);
  const file = join(folder, `weights ${seed}`);
  writeFileSync(file, new Uint8Array(values.buffer));
  return new Map([
    ["scale", { file, offset: 0 }],
    ["w", { file, offset: 4 * size }],
  ]);
}

async function compute(graph: Graph, weights: Weights, rows: number): Promise<readonly number[]> {
  const session = await createSession(graph, { weights, threads: 1 });
  const size = Number(graph.inputs[0]?.value.shape[1]);
  const x = Float32Array.from({ length: rows * size }, (_, index) => Math.sin(index));
  const outputs = await session.run({ x: float32Tensor([rows, size], x) });
  await session.release();
  return [...float32Data(outputs["y"])];
}

test("sessions compute the same with mapped arranged weights as with their own, for any graph", async () => {
  const weights = randomWeights(96, 1);
  const file = join(folder, "arranged");
  await writeArrangedWeights(file, product(96), { weights, threads: 1 });
  assert.deepEqual(readdirSync(folder).toSorted(), ["arranged", "weights 1"]);
  const arranged = withArrangedWeights(file, weights);
  assert.ok(arranged !== null);
  for (const added of [0, 1]) {
    for (const rows of [1, 3, 40]) {
      const graph = product(96, added);
      assert.deepEqual(await compute(graph, arranged, rows), await compute(graph, weights, rows));
    }
  }
});

for (const [kind, codes, scales] of [
  ["int8MatMul", { dtype: "int8", shape: [64, 96] }, [96]],
  ["int8MatMul", { dtype: "uint8", shape: [64, 96] }, [96]],
  ["int4MatMul", { dtype: "uint8", shape: [96, 2, 16] }, [96, 2]],
] as const) {
  test(`${kind} of ${codes.dtype} computes the same with mapped arranged weights, and does not change their file`, async () => {
    const builder = new GraphBuilder();
    const x = builder.input("x", "float32", ["B", 64]);
    const weight = builder.parameter("codes", codes.shape, codes.dtype);
    const graph = builder.build({ y: builder[kind](x, weight, builder.parameter("scales", scales)) });
    const random = seededRandom("arranged", kind);
    const codeBytes = Uint8Array.from({ length: byteLengthOf(codes) }, () => random.index(256));
    const scaleValues = Float32Array.from({ length: scales.reduce((a: number, b) => a * b, 1) }, () =>
      random.uniform(),
    );
    const source = join(folder, "weights");
    writeFileSync(source, Buffer.concat([codeBytes, new Uint8Array(scaleValues.buffer)]));
    const weights: Weights = new Map([
      ["codes", { file: source, offset: 0 }],
      ["scales", { file: source, offset: codeBytes.length }],
    ]);
    const file = join(folder, "arranged");
    await writeArrangedWeights(file, graph, { weights, threads: 1 });
    const written = readFileSync(file);
    const arranged = withArrangedWeights(file, weights);
    assert.ok(arranged !== null);
    assert.ok([...arranged.values()].some((one) => "arranged" in one && one.arranged !== undefined));
    // When the kernel loads weights, it writes scales between their codes. Writing them a second time must change
    // nothing.
    for (const rows of [1, 3, 40, 1]) {
      assert.deepEqual(await compute(graph, arranged, rows), await compute(graph, weights, rows));
    }
    assert.deepEqual(readFileSync(file), written);
  });
}

test("a second graph's file holds only what the first lacks, and its sessions map both", async () => {
  const first = randomWeights(96, 1);
  const source = join(folder, "more");
  const values = Float32Array.from({ length: 96 * 97 }, (_, index) => Math.cos(index));
  writeFileSync(source, new Uint8Array(values.buffer));
  const weights: Weights = new Map([
    ...first,
    ["other", { file: source, offset: 0 }],
    ["added", { file: source, offset: 4 * 96 * 96 }],
  ]);
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 96]);
  const scaled = builder.multiply(x, builder.parameter("scale", [96]));
  const times = (value: Value, name: string): Value =>
    builder.matMul(value, builder.parameter(name, [96, 96]), { transposeB: true });
  const both = times(builder.add(times(scaled, "w"), builder.parameter("added", [96])), "other");
  const graph = builder.build({ y: both });
  const files = [join(folder, "one"), join(folder, "two")];
  await writeArrangedWeights(files[0], product(96), { weights, threads: 1 });
  const mapped = withArrangedWeights(files[0], weights);
  assert.ok(mapped !== null);
  await writeArrangedWeights(files[1], graph, { weights: mapped, threads: 1 });
  const mappedTwice = withArrangedWeights(files[1], mapped);
  assert.ok(mappedTwice !== null);
  const keys = [...mappedTwice.values()].flatMap((one) =>
    "file" in one ? (one.arranged ?? []).map(({ key }) => [one.file, key]) : [],
  );
  assert.deepEqual(keys.map(([file]) => file).toSorted(), files);
  assert.equal(new Set(keys.map(([, key]) => key)).size, 2);
  for (const rows of [1, 3, 40]) {
    assert.deepEqual(await compute(graph, mappedTwice, rows), await compute(graph, weights, rows));
  }
});

test("several threads write the same bytes as one, and leave no other files", async () => {
  const sizes = [96, 32, 160, 64];
  const [source, builder] = [join(folder, "several"), new GraphBuilder()];
  const random = seededRandom("several threads");
  let y = builder.input("x", "float32", ["B", 96]);
  const weights = new Map<string, WeightSource>();
  const bytes: Uint8Array[] = [];
  let [width, offset] = [96, 0];
  for (const [index, size] of sizes.entries()) {
    const values = Float32Array.from({ length: size * width }, () => random.uniform() - 0.5);
    weights.set(`w${index}`, { file: source, offset });
    y = builder.matMul(y, builder.parameter(`w${index}`, [size, width]), { transposeB: true });
    bytes.push(new Uint8Array(values.buffer));
    offset += values.byteLength;
    width = size;
  }
  weights.set("scale", { file: source, offset });
  const graph = builder.build({ y: builder.multiply(y, builder.parameter("scale", [width])) });
  writeFileSync(source, Buffer.concat([...bytes, new Uint8Array(4 * width)]));
  const written: Buffer[] = [];
  for (const threads of [1, 2, 3]) {
    const file = join(folder, `arranged ${threads}`);
    await writeArrangedWeights(file, graph, { weights, threads });
    written.push(readFileSync(file));
  }
  assert.equal(withArrangedWeights(join(folder, "arranged 2"), weights)?.size, weights.size);
  assert.deepEqual(written[1], written[0]);
  assert.deepEqual(written[2], written[0]);
  assert.equal(readdirSync(folder).length, 4);
});

test("a parameter that the runtime replaces when it loads a program does not carry arranged weights", async () => {
  const [file, source] = [join(folder, "arranged"), join(folder, "exponents")];
  writeFileSync(source, new Uint8Array(new Float32Array(1).buffer));
  const weights: Weights = new Map([...randomWeights(96, 1), ["exponent", { file: source, offset: 0 }]]);
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 96]);
  const scaled = builder.multiply(x, builder.exp(builder.parameter("exponent", [1])));
  const shifted = builder.add(scaled, builder.parameter("scale", [96]));
  const y = builder.matMul(shifted, builder.parameter("w", [96, 96]), { transposeB: true });
  const graph = builder.build({ y });
  await writeArrangedWeights(file, graph, { weights, threads: 1 });
  const arranged = withArrangedWeights(file, weights);
  const carriers = [...(arranged ?? [])].filter(([, one]) => "arranged" in one).map(([name]) => name);
  assert.deepEqual(carriers, ["scale"]);
  assert.deepEqual(await compute(graph, arranged ?? weights, 3), await compute(graph, weights, 3));
});

/** Returns the process's memory that is not mapped from files, in MiB. */
function ownMemory(): number {
  return Number(/^RssAnon:\s+(\d+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1]) / 1024;
}

test("mapped arranged weights take no private memory in any number of sessions", async (context) => {
  if (process.platform !== "linux") {
    context.skip("private memory is read from Linux's /proc");
    return;
  }
  const size = 4096;
  const weights = randomWeights(size, 1);
  const file = join(folder, "arranged");
  await writeArrangedWeights(file, product(size), { weights, threads: 1 });
  const arranged = withArrangedWeights(file, weights);
  assert.ok(arranged !== null);
  const before = ownMemory();
  const sessions = await Promise.all(
    [0, 1, 2].map((added) => createSession(product(size, added), { weights: arranged, threads: 1 })),
  );
  const taken = ownMemory() - before;
  for (const session of sessions) await session.release();
  assert.ok(taken < 32, `three sessions of weights of 64 MiB took ${taken} MiB`);
});

test("other weights than those of the file are arranged anew in memory", async () => {
  const file = join(folder, "arranged");
  await writeArrangedWeights(file, product(64), { weights: randomWeights(64, 1), threads: 1 });
  const [w, scale] = [randomWeights(64, 2), randomWeights(64, 1)];
  const weights: Weights = new Map([...w, ["scale", scale.get("scale") ?? assert.fail()]]);
  const arranged = withArrangedWeights(file, weights);
  assert.ok(arranged !== null);
  assert.deepEqual(await compute(product(64), arranged, 2), await compute(product(64), weights, 2));
});

test("ignores a file that is missing, truncated or of another format", async () => {
  const weights = randomWeights(64, 1);
  const file = join(folder, "arranged");
  assert.equal(withArrangedWeights(file, weights), null);
  await writeArrangedWeights(file, product(64), { weights, threads: 1 });
  truncateSync(file, readFileSync(file).length - 4096);
  assert.equal(withArrangedWeights(file, weights), null);
  writeFileSync(file, "something else that is no such file");
  assert.equal(withArrangedWeights(file, weights), null);
});
