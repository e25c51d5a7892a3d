// Compares the vector code with plain loops: widening of every float16, and rounding to the nearest of 127 steps.
import assert from "node:assert/strict";
import { test } from "node:test";
import { roundBlocks, turnRows, widenHalves } from "./vectors.ts";

test("widens every float16 exactly", () => {
  const halves = Uint16Array.from({ length: 1 << 16 }, (_, bits) => bits);
  const widened = widenHalves(halves);
  for (const [bits, value] of widened.entries()) {
    const [exponent, fraction] = [(bits >>> 10) & 31, bits & 1023];
    const size =
      exponent === 31
        ? fraction === 0
          ? Infinity
          : NaN
        : exponent === 0
          ? fraction * 2 ** -24
          : (1 + fraction / 1024) * 2 ** (exponent - 15);
    assert.ok(Object.is(value, bits < 0x8000 ? size : -size) || (Number.isNaN(size) && Number.isNaN(value)));
  }
  assert.equal(widenHalves(new Uint16Array(0)).length, 0);
});

test("rounds to the nearest step, and ties up", () => {
  // The Hadamard matrix turns a single number at the start of a block into 64 equal numbers. Each is an eighth of the
  // original number.
  const steps = [127, 0.5, 1.5, -0.5, -1.5, 63.5, -126.5, 126.49999];
  const values = new Float32Array(64 * steps.length);
  for (const [block, step] of steps.entries()) values[64 * block] = 8 * step * 0.03125;
  const { rows, scales } = roundBlocks(values, values.length);
  assert.deepEqual([...scales], [0.03125]);
  const expected = [127, 1, 2, 0, -1, 64, -126, 126];
  assert.deepEqual(
    [...rows],
    expected.flatMap((code) => Array.from({ length: 64 }, () => code)),
  );
});

test("turns rows into columns of a larger matrix, and leaves its other columns unchanged", () => {
  const [K, N] = [32, 40];
  const rows = Int8Array.from({ length: 16 * K }, (_, index) => (index * 7) % 127);
  const columns = new Int8Array(K * N).fill(-1);
  turnRows(rows, K, columns, { from: 20, N });
  for (let k = 0; k < K; k++)
    for (let column = 0; column < N; column++) {
      const isTurned = column >= 20 && column < 36;
      assert.equal(columns[k * N + column], isTurned ? rows[(column - 20) * K + k] : -1);
    }
});
