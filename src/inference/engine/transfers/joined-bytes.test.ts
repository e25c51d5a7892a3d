import assert from "node:assert/strict";
import { test } from "node:test";
import { seededRandom } from "../../../base/domain/random.ts";
import { searchSeeds } from "../../../base/domain/testing/search.ts";
import { readJoined, writeJoined } from "./joined-bytes.ts";

test("reads and writes any byte range of the joined arrays, for any array sizes", () => {
  for (const seed of searchSeeds(40)) {
    const random = seededRandom("joined bytes", seed);
    const arrays = Array.from({ length: 1 + random.index(4) }, () =>
      Float32Array.from({ length: random.index(5) }, () => random.uniform()),
    );
    const whole = Buffer.concat(arrays.map(({ buffer }) => Buffer.from(buffer)));
    const copies = arrays.map(({ length }) => new Float32Array(length));
    for (let offset = 0; offset < whole.length;) {
      const count = Math.min(1 + random.index(11), whole.length - offset);
      const bytes = readJoined(arrays, offset, count);
      assert.deepEqual(Buffer.from(bytes), whole.subarray(offset, offset + count), `seed ${seed}`);
      writeJoined(copies, offset, bytes);
      offset += count;
    }
    assert.deepEqual(copies, arrays, `seed ${seed}`);
  }
});

test("refuses bytes beyond the end", () => {
  const arrays = [new Float32Array(2)];
  for (const [offset, count] of [
    [0, 9],
    [8, 1],
    [-4, 4],
  ]) {
    assert.throws(() => readJoined(arrays, offset, count), RangeError);
    assert.throws(() => writeJoined(arrays, offset, new Uint8Array(count)), RangeError);
  }
});
