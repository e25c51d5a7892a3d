import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { env } from "onnxruntime-node";
import { seededRandom } from "../../base/domain/random.ts";
import { GraphBuilder } from "../../lib/graph/builder.ts";
import { float32Data, float32Tensor } from "../../lib/graph/tensor.ts";
import { hasExactSums, integerKernels, isRowSame, measureKernels } from "./integer-kernels.ts";
import { runtimeVersion } from "./saved-kernels.ts";
import { createSession } from "./session.ts";

test("the chosen codes have exact sums, unsigned ones on every processor, and 4 bits are used only if rows do not depend on their batch", async () => {
  const { codes, fourBits, rates } = await measureKernels();
  assert.ok(codes !== null);
  assert.ok(await hasExactSums(codes));
  assert.ok(await hasExactSums("uint8"));
  assert.equal(codes, (await hasExactSums("int8")) ? "int8" : "uint8");
  assert.equal(fourBits, await isRowSame("int4"));
  for (const form of ["float32", codes] as const) assert.ok(await isRowSame(form), form);
  const forms = ["float32", codes, ...(fourBits ? ["int4"] : [])];
  assert.deepEqual([...new Set(rates.map(({ form }) => form))], forms);
  assert.ok(rates.every(({ gigaOps }) => gigaOps > 0 && Number.isFinite(gigaOps)));
});

test("signed and unsigned codes of one weight give the same bits if both are exact", async () => {
  const [K, N, rowCount] = [70, 33, 9];
  const random = seededRandom("codes");
  const codes = Array.from({ length: K * N }, () => random.index(127) - 63);
  const x = Float32Array.from({ length: rowCount * K }, () => random.uniform() - 0.5);
  const compute = async (dtype: "int8" | "uint8"): Promise<Float32Array> => {
    const builder = new GraphBuilder();
    const stored = codes.map((code) => (dtype === "uint8" ? code + 128 : code));
    const weight = builder.constant(dtype, [K, N], stored);
    const y = builder.int8MatMul(builder.input("x", "float32", ["B", K]), weight, builder.full([N], 0.1));
    const session = await createSession(builder.build({ y }), { weights: new Map(), threads: 1 });
    const result = float32Data((await session.run({ x: float32Tensor([rowCount, K], x) }))["y"]);
    await session.release();
    return result;
  };
  assert.deepEqual(await compute("uint8"), await compute("int8"));
});

test("the version of saved measurements is that of the runtime", () => {
  assert.equal(runtimeVersion, env.versions.common);
});

test("saves a measurement for the processor, and reads it again", async (t) => {
  const folder = mkdtempSync(join(tmpdir(), "hone-kernels-"));
  t.after(() => rmSync(folder, { recursive: true }));
  const cache = join(folder, "cache");
  const measured = await integerKernels(cache, { isReadOnly: true });
  assert.equal(existsSync(cache), false);
  assert.deepEqual(await integerKernels(cache), measured);
  const [file, ...others] = readdirSync(cache);
  assert.deepEqual(others, []);
  const changed = { ...measured, rates: [] };
  writeFileSync(join(cache, file), JSON.stringify(changed));
  assert.deepEqual(await integerKernels(cache), changed);
  writeFileSync(join(cache, file), JSON.stringify(measured).slice(0, 20));
  assert.deepEqual(await integerKernels(cache), measured, "a torn file is measured again");
});

test("a row of zeros gives the same zeros in any batch", async () => {
  const [K, N] = [70, 33];
  const random = seededRandom("zeros");
  const builder = new GraphBuilder();
  const codes = Array.from({ length: K * N }, () => random.index(255) + 1);
  const y = builder.int8MatMul(
    builder.input("x", "float32", ["B", K]),
    builder.constant("uint8", [K, N], codes),
    builder.full([N], 0.1),
  );
  const session = await createSession(builder.build({ y }), { weights: new Map(), threads: 2 });
  const compute = async (rows: readonly (readonly number[])[]): Promise<Float32Array> =>
    float32Data(
      (await session.run({ x: float32Tensor([rows.length, K], Float32Array.from(rows.flat())) }))["y"],
    );
  const zeros = Array<number>(K).fill(0);
  const alone = await compute([zeros]);
  assert(alone.every((value) => value === 0));
  for (const count of [2, 7, 40]) {
    const rows = Array.from({ length: count }, (_, row) =>
      row % 2 === 0 ? zeros : zeros.map(() => random.uniform() - 0.5),
    );
    const together = await compute(rows);
    rows.forEach((row, index) => {
      if (row === zeros) assert.deepEqual(together.slice(index * N, (index + 1) * N), alone, `row ${index}`);
    });
  }
  await session.release();
});
