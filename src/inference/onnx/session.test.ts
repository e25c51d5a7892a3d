// Tests sessions: the runtime must compute the same as the reference interpreter, and refuse invalid inputs.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { buildCase, compositeCases, differentiateCase, opCases } from "../../../test/op-cases.ts";
import type { OpCase } from "../../../test/op-cases.ts";
import { present } from "../../base/domain/assert.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { toDense } from "../../lib/graph/testing/dense.ts";
import type { Graph } from "../../lib/graph/graph.ts";
import { interpret } from "../../lib/graph/testing/interpret.ts";
import { float32Data, float32Tensor } from "../../lib/graph/tensor.ts";
import type { Tensor } from "../../lib/graph/tensor.ts";
import { createSession } from "./session.ts";
import type { WeightSource } from "../../lib/graph/weight-source.ts";

const cases = [
  ...Object.entries(opCases),
  ...Object.entries(compositeCases).map(([name, one]) => [name, [one]] as const),
];

const withoutGradient = new Set([
  "causalAttention",
  "continuedAttention",
  "blockedAttentionGradient",
  "int4MatMul",
  "topIds",
]);

for (const [name, examples] of cases) {
  if (examples.length === 0) continue;
  test(`${name} gives the interpreter's result`, async () => {
    for (const example of examples) await checkForward(example);
  });
  if (withoutGradient.has(name)) continue;
  test(`the gradient of ${name} equals the interpreter's`, async () => {
    for (const example of examples) await checkGradient(example);
  });
}

test("weights come from files and from memory, separately and together", async () => {
  const folder = mkdtempSync(join(tmpdir(), "session-"));
  const file = join(folder, "weights.bin");
  const values = Float32Array.from({ length: 10 }, (_, index) => index);
  writeFileSync(file, new Uint8Array(values.buffer));
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 3]);
  const projected = builder.matMul(x, builder.parameter("w", [2, 3]), { transposeB: true });
  const graph = builder.build({ y: builder.add(projected, builder.parameter("bias", [2])) });
  const sources: readonly ReadonlyMap<string, WeightSource>[] = [
    new Map([
      ["w", { file, offset: 4 }],
      ["bias", { file, offset: 32 }],
    ]),
    new Map<string, WeightSource>([
      ["w", { file, offset: 4 }],
      ["bias", { data: values.subarray(8) }],
    ]),
    new Map([
      ["w", { data: values.subarray(1, 7) }],
      ["bias", { data: values.subarray(8) }],
    ]),
  ];
  try {
    for (const [index, weights] of sources.entries()) {
      const session = await createSession(graph, { weights, threads: 1, prepackWeights: index > 0 });
      const outputs = await session.run({ x: float32Tensor([1, 3], Float32Array.of(1, 10, 100)) });
      assert.deepEqual([...float32Data(outputs["y"])], [329, 663]);
      await session.release();
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});

test("a missing weight file is an operating error with its cause", async () => {
  const builder = new GraphBuilder();
  const graph = builder.build({ y: builder.exp(builder.parameter("w", [2])) });
  const weights = new Map([["w", { file: "/nowhere/weights.bin", offset: 0 }]]);
  await assert.rejects(createSession(graph, { weights, threads: 1 }), {
    name: "ServiceError",
    code: "internal",
  });
});

test("refuses feeds that do not fit the inputs, by name", async () => {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 2]);
  const y = builder.input("y", "float32", ["B"]);
  const graph = builder.build({ z: builder.matMul(builder.reshape(y, [1, "B"]), x) });
  const session = await createSession(graph, { weights: new Map(), threads: 1 });
  const of = (...dims: number[]) => float32Tensor(dims, new Float32Array(dims.reduce((a, b) => a * b, 1)));
  await assert.rejects(session.run({ x: of(3, 2) }), /the feeds contain the input y/);
  await assert.rejects(session.run({ x: of(3, 2), y: of(2) }), /axis 0 of input y is B = 3, got 2/);
  await assert.rejects(session.run({ x: of(3, 1), y: of(3) }), /axis 1 of input x is 2/);
  await assert.rejects(session.run({ x: of(3, 2), y: of(3), z: of(1) }), /the feeds are exactly the inputs/);
  assert.deepEqual((await session.run({ x: of(3, 2), y: of(3) }))["z"]?.dims, [1, 2]);
  await session.release();
});

async function checkForward(example: OpCase): Promise<void> {
  const built = buildCase(example);
  await compare(built.builder.build(built.results), built.feeds);
}

async function checkGradient(example: OpCase): Promise<void> {
  const built = buildCase(example);
  const { loss, slopes } = differentiateCase(built);
  await compare(built.builder.build({ ...slopes, loss }), built.feeds);
}

async function compare(graph: Graph, feeds: Readonly<Record<string, Tensor>>): Promise<void> {
  const dense = Object.fromEntries(Object.entries(feeds).map(([name, tensor]) => [name, toDense(tensor)]));
  const expected = interpret(graph, dense);
  const session = await createSession(graph, { weights: new Map(), threads: 1 });
  const actual = await session.run(feeds);
  await session.release();
  for (const { name } of graph.outputs) {
    const wanted = present(expected[name], name);
    const got = toDense(present(actual[name], name));
    assert.deepEqual(got.dims, wanted.dims, name);
    for (const [position, element] of wanted.data.entries()) {
      const error = Math.abs((got.data[position] ?? Number.NaN) - element);
      assert.ok(
        error <= 2e-5 * Math.max(1, Math.abs(element)),
        `${name}[${position}]: ${got.data[position]}, expected ${element}`,
      );
    }
  }
}
