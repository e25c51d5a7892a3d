// Tests that attention over a cache gives the same result as attention over the whole sequence, wherever the sequence
// is split.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import { seededRandom } from "../../base/domain/random.ts";
import { cacheAttention, cacheMask, causalMask, selfAttention } from "./attention.ts";
import { GraphBuilder } from "./builder.ts";
import { denseFrom, elementAt } from "./testing/dense.ts";
import type { Dense } from "./testing/dense.ts";
import { interpret } from "./testing/interpret.ts";

const KV_HEADS = 2;
const QUERY_HEADS = 4;
const HEAD_SIZE = 4;
const LENGTH = 6;
const heads = { queryHeads: QUERY_HEADS, kvHeads: KV_HEADS, headSize: HEAD_SIZE, scale: 0.5 };

const q = noise("q", QUERY_HEADS * HEAD_SIZE);
const k = noise("k", KV_HEADS * HEAD_SIZE);
const v = noise("v", KV_HEADS * HEAD_SIZE);

for (const window of [undefined, 3]) {
  const whole = attendWhole(window);

  test(`fused and plain attention of whole sequences agree (window ${window})`, () => {
    const b = new GraphBuilder();
    const [query, key, value] = sequenceInputs(b, "T");
    const options = { ...heads, ...(window === undefined ? {} : { window }) };
    const { attention } = b.causalAttention(query, key, value, options);
    checkRows(present(interpret(b.build({ attention }), { q, k, v })["attention"], "attention"), whole, 0);
  });

  for (const [past, count] of [
    [5, 1],
    [1, 1],
    [2, 4],
    [4, 2],
    [0, 6],
  ] as const) {
    test(`${count} tokens after ${past} attend as in the whole sequence (window ${window})`, () => {
      for (const capacity of [LENGTH, LENGTH + 3]) {
        checkRows(attendCache({ past, count, capacity, window, isFused: true }), whole, past);
        if (count > 1) continue;
        checkRows(attendCache({ past, count, capacity, window, isFused: false }), whole, past);
      }
    });
  }
}

function attendWhole(window: number | undefined): Dense {
  const b = new GraphBuilder();
  const [query, key, value] = sequenceInputs(b, "T");
  const mask = causalMask(b, "T", window);
  const attention = selfAttention(b, { q: query, k: key, v: value }, { ...heads, mask });
  return present(interpret(b.build({ attention }), { q, k, v })["attention"], "attention");
}

function attendCache(options: {
  readonly past: number;
  readonly count: number;
  readonly capacity: number;
  readonly window: number | undefined;
  readonly isFused: boolean;
}): Dense {
  const { past, count, capacity, window, isFused } = options;
  const b = new GraphBuilder();
  const [query, key, value] = sequenceInputs(b, count === 1 ? 1 : "T", 1);
  const cacheShape = [1, KV_HEADS, "C", HEAD_SIZE];
  const length = b.input("past", "int64", [1]);
  const keys = b.input("cacheKeys", "float32", cacheShape);
  const values = b.input("cacheValues", "float32", cacheShape);
  const attention = isFused
    ? b.continuedAttention(
        { q: query, k: key, v: value },
        { keys, values, length },
        {
          queryHeads: QUERY_HEADS,
          kvHeads: KV_HEADS,
          scale: heads.scale,
          ...(window === undefined ? {} : { window }),
        },
      )
    : cacheAttention(
        b,
        { q: query, k: key, v: value, cacheKeys: keys, cacheValues: values },
        { ...heads, mask: cacheMask(b, { pastLengths: length, capacity: "C", window }) },
      ).attention;
  const cut = (x: Dense) =>
    denseFrom([1, count, x.dims[2] ?? 0], ([, token = 0, channel = 0]) =>
      elementAt(x, [0, past + token, channel]),
    );
  // From position `past` on, the cache holds garbage (7), which the mask must hide.
  const cache = (x: Dense) =>
    denseFrom([1, KV_HEADS, capacity, HEAD_SIZE], ([, head = 0, token = 0, channel = 0]) =>
      token < past ? elementAt(x, [0, token, head * HEAD_SIZE + channel]) : 7,
    );
  const feeds = {
    q: cut(q),
    k: cut(k),
    v: cut(v),
    past: { dims: [1], data: Float64Array.of(past) },
    cacheKeys: cache(k),
    cacheValues: cache(v),
  };
  return present(interpret(b.build({ attention }), feeds)["attention"], "attention");
}

function sequenceInputs(b: GraphBuilder, length: string | number, rows: string | number = "B") {
  const input = (name: string, headCount: number) =>
    b.input(name, "float32", [rows, length, headCount * HEAD_SIZE]);
  return [input("q", QUERY_HEADS), input("k", KV_HEADS), input("v", KV_HEADS)] as const;
}

/** Asserts that `actual` equals the rows of `whole` from `start`. */
function checkRows(actual: Dense, whole: Dense, start: number): void {
  const width = QUERY_HEADS * HEAD_SIZE;
  for (const [place, element] of actual.data.entries()) {
    const expected = present(whole.data[start * width + place], "an element");
    assert.ok(Math.abs(element - expected) < 1e-12, `element ${place}: ${element}, expected ${expected}`);
  }
}

function noise(name: string, width: number): Dense {
  const random = seededRandom("attention", name);
  return denseFrom([1, LENGTH, width], () => 2 * random.uniform() - 1);
}
