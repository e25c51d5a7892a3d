import assert from "node:assert/strict";
import { test } from "node:test";
import { requireExactIntegerProducts, requireProducts } from "./integer-products.ts";

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
