// Compares the vector code with plain loops: widening of every float16, and rounding to the nearest of 127 steps.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bfloat16ToFloat32,
  float16ToFloat32,
  float32ToBfloat16,
  float32ToFloat16,
} from "../model-files/half-floats.ts";
import { RowRounder, widenHalves } from "./vectors.ts";

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
  const rounder = new RowRounder();
  rounder.begin({ K: values.length, rowCount: 1, sliceRows: 1, hasRows: false, hasColumns: false });
  rounder.values.set(new Uint8Array(values.buffer));
  const { rows, scales } = rounder.round(1, "float32", 0);
  assert.deepEqual([...scales], [0.03125]);
  const expected = [127, 1, 2, 0, -1, 64, -126, 126];
  assert.deepEqual(
    [...rows],
    expected.flatMap((code) => Array.from({ length: 64 }, () => code)),
  );
});

for (const [rowCount, hasRows] of [
  [16, false],
  [40, true],
  [67, false],
  [67, true],
] as const) {
  test(`turns ${rowCount} rows into columns, a slice at a time${hasRows ? ", and keeps the rows" : ""}`, () => {
    const [K, sliceRows] = [128, 32];
    const rounder = new RowRounder();
    rounder.begin({ K, rowCount, sliceRows, hasRows, hasColumns: true });
    const all: number[] = [];
    for (let from = 0; from < rowCount; from += sliceRows) {
      const count = Math.min(sliceRows, rowCount - from);
      const values = Float32Array.from({ length: count * K }, (_, index) => Math.sin(index + from * K));
      rounder.values.set(new Uint8Array(values.buffer));
      all.push(...rounder.round(count, "float32", from).rows);
      rounder.turn(count, from);
    }
    if (hasRows) assert.deepEqual([...rounder.rows()], all);
    const columns = rounder.columns();
    assert.equal(columns.length, rowCount * K);
    for (let k = 0; k < K; k++)
      for (let row = 0; row < rowCount; row++) assert.equal(columns[k * rowCount + row], all[row * K + k]);
  });
}

test("rounds 16-bit values as the same values in float32", () => {
  const K = 64;
  // The first rows also have numbers that are denormal in float16.
  const floats = Float32Array.from(
    { length: 16 * K },
    (_, index) => Math.sin(index) * 2 ** ((index % 20) - (index < 8 * K ? 30 : 10)),
  );
  for (const type of ["float16", "bfloat16"] as const) {
    const halves = type === "float16" ? float32ToFloat16(floats) : float32ToBfloat16(floats);
    const widened = type === "float16" ? float16ToFloat32(halves) : bfloat16ToFloat32(halves);
    const results = ([type, "float32"] as const).map((given) => {
      const rounder = new RowRounder();
      rounder.begin({ K, rowCount: 16, sliceRows: 16, hasRows: false, hasColumns: false });
      rounder.values.set(new Uint8Array(given === "float32" ? widened.buffer : halves.buffer));
      const { rows, scales, isExact } = rounder.round(16, given, 0);
      return { rows: [...rows], scales: [...scales], isExact };
    });
    assert.deepEqual(results[0], results[1]);
    assert.ok(results[0].isExact);
  }
});

test("says that codes of tiny, large, infinite and undefined numbers may be imprecise", () => {
  const K = 64;
  const isExact = (type: "float16" | "bfloat16", value: number): boolean => {
    const rounder = new RowRounder();
    rounder.begin({ K, rowCount: 1, sliceRows: 1, hasRows: false, hasColumns: false });
    const row = new Float32Array(K).fill(value, 5, 6);
    const halves = type === "float16" ? float32ToFloat16(row) : float32ToBfloat16(row);
    rounder.values.set(new Uint8Array(halves.buffer));
    return rounder.round(1, type, 0).isExact;
  };
  for (const value of [0, 1, -(2 ** -24), 60_000]) assert.ok(isExact("float16", value), `${value}`);
  for (const value of [Infinity, -Infinity, NaN]) assert.ok(!isExact("float16", value), `${value}`);
  for (const value of [2 ** -125, 2 ** 17, Infinity, NaN]) assert.ok(!isExact("bfloat16", value), `${value}`);
});
