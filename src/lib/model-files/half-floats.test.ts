// Tests sixteen-bit numbers: every float16 survives a round trip, and values in between are rounded to the nearest,
// ties to even.
import assert from "node:assert/strict";
import { test } from "node:test";
import { float16ToFloat32, float32ToFloat16 } from "./half-floats.ts";

test("every float16 is unchanged by widening and rounding", () => {
  const all = Uint16Array.from({ length: 1 << 16 }, (_, index) => index);
  const back = float32ToFloat16(float16ToFloat32(all));
  for (const half of all) {
    const isNan = (half & 0x7fff) > 0x7c00;
    assert.equal(back[half], isNan ? 0x7e00 : half, half.toString(16));
  }
});

test("rounds to the nearest float16, and halfway to the even one", () => {
  const finite = Uint16Array.from({ length: 0x7c00 }, (_, index) => index);
  const values = float16ToFloat32(finite);
  for (let half = 0; half + 1 < finite.length; half++) {
    const [low, high] = [values[half], values[half + 1]];
    const middle = low + (high - low) / 2;
    const quarter = low + (high - low) / 4;
    const even = half % 2 === 0 ? half : half + 1;
    const found = float32ToFloat16(Float32Array.of(middle, -middle, quarter, high - (quarter - low)));
    assert.deepEqual([...found], [even, even | 0x8000, half, half + 1], String(low));
  }
});

test("values beyond the greatest float16 become infinite", () => {
  const found = float32ToFloat16(Float32Array.of(65504, 65519, 65520, 1e30, -Infinity, 1e-30, -0));
  assert.deepEqual([...found], [0x7bff, 0x7bff, 0x7c00, 0x7c00, 0xfc00, 0, 0x8000]);
});
