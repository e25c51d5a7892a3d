import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../domain/random.ts";
import { GraphBuilder } from "../graph/builder.ts";
import { float32Data, float32Tensor } from "../graph/tensor.ts";
import { requireExactIntegerProducts, requireProducts } from "./integer-products.ts";
import { createSession } from "./session.ts";

test("products of the greatest codes are exact on the processors that tests run on", async () => {
  await requireExactIntegerProducts("Use float32.");
});

test("products that were cut to 16 bits are refused with what to do", () => {
  requireProducts(Float32Array.of(8128, 8128.0005), "Use float32.");
  assert.throws(() => requireProducts(Float32Array.of(8128, 4064), "Use float32."), {
    code: "unsupported",
    message: /4064 where 8128 is right.*Use float32\.$/,
  });
});

test("a row of zeros gives the same zeros alone and among others", async () => {
  const [K, N] = [70, 33];
  const random = seededRandom("zeros");
  const builder = new GraphBuilder();
  const codes = Array.from({ length: K * N }, () => random.index(255) - 127);
  const y = builder.int8MatMul(
    builder.input("x", "float32", ["B", K]),
    builder.constant("int8", [K, N], codes),
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
