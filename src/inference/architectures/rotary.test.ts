// Tests rotary angles and their scalings against numbers computed by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { inverseFrequencies, rotaryTables, type RotaryScaling } from "./rotary.ts";

const scaling: RotaryScaling = {
  kind: "llama3",
  factor: 8,
  lowFrequencyFactor: 1,
  highFrequencyFactor: 4,
  originalContextLength: 32,
};

test("the first pair turns one radian a position, later ones ever more slowly", () => {
  const frequencies = inverseFrequencies({ theta: 10_000, scaling: { kind: "none" } }, 8);
  assert.deepEqual(
    [...frequencies].map((value) => value.toPrecision(6)),
    ["1.00000", "0.100000", "0.0100000", "0.00100000"],
  );
});

test("linear scaling slows all pairs alike", () => {
  const [first] = inverseFrequencies({ theta: 10_000, scaling: { kind: "linear", factor: 4 } }, 8);
  assert.equal(first, 0.25);
});

test("Llama 3 scaling keeps fast pairs, slows slow ones, and blends between", () => {
  const plain = inverseFrequencies({ theta: 10_000, scaling: { kind: "none" } }, 16);
  const scaled = inverseFrequencies({ theta: 10_000, scaling }, 16);
  assert.equal(scaled[0], plain[0]);
  assert.equal(scaled[7], plain[7] / 8);
  assert.ok(scaled[1] < plain[1] && scaled[1] > plain[1] / 8);
});

test("tables hold one row a position, cosine and sine of the same angle", () => {
  const { cosines, sines } = rotaryTables(
    { theta: 10_000, scaling: { kind: "none" } },
    { rotarySize: 4, positionCount: 3 },
  );
  assert.equal(cosines.length, 6);
  assert.deepEqual([...cosines.subarray(0, 2)], [1, 1]);
  assert.ok(Math.abs(sines[4] - Math.sin(2)) < 1e-6);
  assert.ok(Math.abs(cosines[5] - Math.cos(0.02)) < 1e-6);
});
