// Tests the memory estimate with programs whose memory was computed by hand.
import assert from "node:assert/strict";
import { test } from "node:test";
import { present } from "../../base/domain/assert.ts";
import { GraphBuilder } from "./builder.ts";
import { gradient } from "./gradient.ts";
import type { Value } from "./graph.ts";
import { peakBytes } from "./peak-memory.ts";
import { recomputed } from "./recompute.ts";

/** Asserts a program's peak memory, counted in tensors of the input's size. */
function check(
  build: (builder: GraphBuilder, x: Value) => Readonly<Record<string, Value>>,
  peak: number,
): void {
  const builder = new GraphBuilder();
  const x = builder.input("x", "float32", ["B", 4]);
  const graph = builder.build(build(builder, x));
  assert.equal(peakBytes(graph, new Map([["B", 10]])) / (10 * 4 * 4), peak);
}

test("frees values after their last use, and keeps outputs", () => {
  check((b, x) => ({ y: b.exp(b.tanh(b.exp(b.tanh(x)))) }), 2);
  check((b, x) => ({ y: b.exp(b.tanh(x)), z: b.tanh(x) }), 2);
});

test("keeps a value that is read later", () => {
  check((b, x) => {
    const early = b.exp(x);
    return { y: b.add(b.tanh(b.exp(b.tanh(early))), early) };
  }, 3);
});

test("an alias or reshape of a value takes no memory and keeps the value alive", () => {
  check((b, x) => {
    const early = b.kept(b.reshape(b.exp(x), [4, "B"]));
    const late = b.tanh(b.exp(b.tanh(early)));
    return { y: b.add(late, early) };
  }, 3);
});

test("a gradient through a recomputed part keeps only the part's input", () => {
  const depth = 10;
  const chain = (b: GraphBuilder, start: Value): Value => {
    let value = start;
    for (let index = 0; index < depth; index++) value = b.tanh(value);
    return value;
  };
  const peakOf = (build: (b: GraphBuilder, x: Value) => Value): number => {
    const builder = new GraphBuilder();
    const x = builder.input("x", "float32", ["B", 4]);
    const [first, second] = [0, 1].map((index) => builder.exp(builder.multiply(x, index + 1)));
    const ends = [present(first, "a start"), present(second, "a start")].map((start) =>
      build(builder, start),
    );
    const loss = builder.reduceSum(builder.add(present(ends[0], "an end"), present(ends[1], "an end")));
    const [slope] = gradient(builder, loss, [x]);
    return peakBytes(builder.build({ slope: present(slope, "a gradient") }), new Map([["B", 10]]));
  };
  const whole = peakOf(chain);
  const again = peakOf((b, start) => recomputed(b, [start], (value) => chain(b, value)));
  assert.ok(again < 0.7 * whole, `${again} bytes instead of ${whole}`);
});
