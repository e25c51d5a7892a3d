// Tests that weights are rounded by the documented formula, and that rounding errors are small.
import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
} from "../../../lib/model-files/half-floats.ts";
import { blockValues, toInt4, toInt8, writeColumns } from "./quantize.ts";
import { roundedCodes } from "./rounded-codes.ts";
import { rotated, rotationMatrix, rotationSize } from "./rotation.ts";

function randomRows(N: number, K: number): Float32Array {
  const random = seededRandom("rows", N, K);
  return Float32Array.from({ length: N * K }, () => (random.uniform() - 0.5) * random.uniform());
}

test("8 bits are 127 steps up to a row's largest magnitude", () => {
  const { rows, scales } = toInt8(Float32Array.of(1, -2, 0.5, 0, 0, 0, 3, 1, -127), [3, 3]);
  assert.deepEqual([...scales], [Math.fround(2 / 127), 0, 1]);
  assert.deepEqual([...rows], [64, -127, 32, 0, 0, 0, 3, 1, -127]);
});

test("8 bits of denormal, infinite and undefined values stay within 127 steps", () => {
  const tiny = 2 ** -149;
  const { rows } = toInt8(
    Float32Array.of(100 * tiny, -3 * tiny, 60 * tiny, -Infinity, 1, 2, NaN, 1, -1),
    [3, 3],
  );
  assert.deepEqual([...rows], [100, -3, 60, 0, 0, 0, 0, 0, 0]);
  const all = toInt8(Float32Array.of(180 * tiny, -180 * tiny, tiny), [1, 3]);
  assert.deepEqual([...all.rows], [127, -127, 1]);
});

test("a rotation has the bits of steps that are stored one by one", () => {
  for (const K of [2, 8, 32, 64, 128]) {
    const values = randomRows(3, K);
    const size = rotationSize(K);
    const stored = values.slice();
    for (let half = 1; half < size; half *= 2) {
      const before = stored.slice();
      before.forEach((value, at) => {
        const isRight = Math.floor(at / half) % 2 === 1;
        stored[at] = isRight ? before[at - half] - value : value + before[at + half];
      });
    }
    assert.deepEqual(
      rotated(values, K),
      stored.map((value) => value * (1 / Math.sqrt(size))),
      `K ${K}`,
    );
  }
});

test("writes rows into columns at any size and position", () => {
  for (const [N, K] of [
    [131, 70],
    [132, 64],
    [80, 48],
  ]) {
    const rows = Int8Array.from({ length: N * K }, (_, index) => index % 251);
    const columns = new Int8Array(N * K);
    for (const [from, to] of [
      [0, 48],
      [48, 51],
      [51, N],
    ])
      writeColumns(rows.subarray(from * K, to * K), K, columns, { from, N });
    for (let row = 0; row < N; row++)
      for (let k = 0; k < K; k++) assert.equal(columns[k * N + row], rows[row * K + k], `${N} x ${K}`);
  }
});

test("rotated rows in vector code have the codes of plain loops, also for ties and extreme values", () => {
  const random = seededRandom("rotated rows");
  const K = 128;
  const rows = [
    ...Array.from({ length: 60 }, () => () => (random.uniform() - 0.5) * random.uniform()),
    // Rows with many ties. A step is 2 in these rows, and sums and differences of 64 small integers are often odd, that
    // is, halfway between two steps.
    ...Array.from({ length: 60 }, () => (k: number) => (k === 0 ? 127 * 16 : random.index(3) * 8)),
    () => 0,
    () => 2 ** -130 * random.uniform(),
    (k: number) => (k === 5 ? Infinity : 1),
    (k: number) => (k === 70 ? NaN : random.uniform()),
    (k: number) => (k === 3 ? 65_536 : random.uniform()),
    () => 2 ** -22 * random.uniform(),
    // Half of these quotients exceed a tie by less than the error of a float32 quotient.
    (k: number) => (k % 64 === 0 ? (k === 0 ? 127 : 40.5 + 2 ** -16) : 0),
  ];
  for (const row of rows) {
    const values = Float32Array.from({ length: K }, (_, k) => row(k));
    const reader = { together: 1, floats: () => values };
    const { rows: codes, scales } = roundedCodes(reader, [1, K], { hasRows: true });
    assert.deepEqual({ rows: codes, scales }, toInt8(rotated(values, K), [1, K]));
    for (const type of ["float16", "bfloat16"] as const) {
      const halves = type === "float16" ? float32ToFloat16(values) : float32ToBfloat16(values);
      const widened = type === "float16" ? float16ToFloat32(halves) : bfloat16ToFloat32(halves);
      const read = (_from: number, _count: number, into: Uint8Array): void =>
        into.set(new Uint8Array(halves.buffer));
      const ofHalves = { together: 1, floats: () => widened, stored: { type, read } };
      const rounded = roundedCodes(ofHalves, [1, K], { hasRows: true });
      const { rows: plainCodes, scales: plainScales } = toInt8(rotated(widened, K), [1, K]);
      assert.deepEqual([rounded.rows, rounded.scales], [plainCodes, plainScales], type);
    }
  }
});

test("4 bits are 16 steps of a block, at least as good as from its least to its largest weight", () => {
  const values = randomRows(4, 64);
  const { codes, scales, offsets } = toInt4(values, [4, 64]);
  for (let block = 0; block < 8; block++) {
    const weights = values.subarray(32 * block, 32 * block + 32);
    const step = (Math.max(...weights) - Math.min(...weights)) / 15;
    let [error, plain] = [0, 0];
    weights.forEach((weight, index) => {
      const code = (codes[16 * block + (index >> 1)] >> (4 * (index & 1))) & 15;
      error += ((code - 8) * scales[block] + offsets[block] - weight) ** 2;
      const steps = Math.round((weight - Math.min(...weights)) / step);
      plain += (Math.min(...weights) + steps * step - weight) ** 2;
    });
    assert(error <= plain * (1 + 1e-5), `block ${block}: ${error} against ${plain}`);
  }
});

test("a block of equal weights is exact", () => {
  const blocks = toInt4(new Float32Array(32).fill(0.75), [1, 32]);
  assert(blocks.codes.every((pair) => pair === 0x88));
  assert(blockValues(blocks).every((value) => value === 0.75));
});

test("a block's values are (code - 8) times the scale, plus the offset if there is one", () => {
  const codes = new Uint8Array(32);
  codes[0] = 0x3f;
  codes[31] = 0xb0;
  const blocks = { codes, scales: Float32Array.of(0.5, 2) };
  const plain = blockValues({ ...blocks, offsets: null });
  assert.deepEqual([...plain.subarray(0, 3)], [3.5, -2.5, -4]);
  assert.deepEqual([...plain.subarray(61)], [-16, -16, 6]);
  const moved = blockValues({ ...blocks, offsets: Float32Array.of(1, -1) });
  assert.deepEqual(
    [...moved],
    [...plain].map((value, index) => value + (index < 32 ? 1 : -1)),
  );
});

test("a rotation is its own inverse, keeps products, and equals the matrix", () => {
  for (const K of [576, 96, 8, 1, 7]) {
    const [x, w] = [randomRows(1, K), randomRows(2, K).subarray(K)];
    const [turnedX, turnedW] = [rotated(x, K), rotated(w, K)];
    const dot = (left: Float32Array, right: Float32Array): number =>
      left.reduce((sum, value, index) => sum + value * right[index], 0);
    assert(Math.abs(dot(x, w) - dot(turnedX, turnedW)) < 1e-5, `K ${K}`);
    rotated(turnedX, K).forEach((value, index) => assert(Math.abs(value - x[index]) < 1e-6, `K ${K}`));
    const size = rotationSize(K);
    const matrix = rotationMatrix(size);
    turnedX.forEach((value, index) => {
      const block = index - (index % size);
      const row = Array.from({ length: size }, (_, k) => x[block + k] * matrix[k * size + (index % size)]);
      assert(Math.abs(row.reduce((sum, one) => sum + one, 0) - value) < 1e-6, `K ${K}`);
    });
  }
});
