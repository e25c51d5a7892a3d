// Tests that blocks of four bits have the values that the reference decodes, in the order of rows.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../../base/domain/assert.ts";
import { readFloats, type StoredTensor } from "../stored-tensor.ts";
import { hasFourBitBlocks, readFourBitBlocks } from "./four-bit-blocks.ts";
import { readGguf } from "./gguf-file.ts";

const { tensors } = readGguf("test/fixtures/gguf/every-type.gguf");

function valuesOf(tensor: StoredTensor): Float32Array {
  assert(hasFourBitBlocks(tensor), tensor.type);
  const { codes, scales, offsets } = readFourBitBlocks(tensor);
  return Float32Array.from({ length: 2 * codes.length }, (_, index) => {
    const block = Math.floor(index / 32);
    const code = (codes[index >> 1] >> (4 * (index & 1))) & 15;
    return (code - 8) * scales[block] + (offsets?.[block] ?? 0);
  });
}

function checkClose(actual: Float32Array, expected: Float32Array): void {
  assert.equal(actual.length, expected.length);
  const largest = expected.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  actual.forEach((value, index) => assert(Math.abs(value - expected[index]) <= 1e-6 * largest, `${index}`));
}

for (const type of ["Q4_0", "Q4_1", "Q4_K"]) {
  const tensor = present(tensors.get(`tensor.${type}`), type);
  test(`${type}: blocks have the weights that the reference decodes`, () => {
    checkClose(valuesOf(tensor), readFloats(tensor));
  });

  test(`${type}: restores the order of paired rows`, () => {
    // With only two rows, restoring their order would change nothing, so the test splits them into more, narrower rows.
    // Q4_K keeps its two rows, because its block is as wide as a row.
    const [rowCount, width] = tensor.shape;
    const shape = type === "Q4_K" ? [rowCount, width] : [(rowCount * width) / 32, 32];
    const paired = { ...tensor, shape, rearranged: { kind: "paired-rows", headCount: 1 } as const };
    checkClose(valuesOf(paired), readFloats(paired));
  });
}

test("refuses other types", () => {
  for (const type of ["Q8_0", "Q5_1", "Q3_K", "Q6_K", "IQ4_NL", "IQ4_XS", "IQ3_S", "F16"]) {
    assert(!hasFourBitBlocks(present(tensors.get(`tensor.${type}`), type)), type);
  }
});
