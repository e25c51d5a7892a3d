// Tests that the builder refuses shapes that do not fit, with an error message. Also tests that it leaves out repeated
// or redundant operations.
import assert from "node:assert/strict";
import { test } from "node:test";
import { causalMask } from "./attention.ts";
import { GraphBuilder } from "./builder.ts";
import type { Value } from "./graph.ts";
import { printGraph } from "./testing/print.ts";
import { shapeRules } from "./shape-rules.ts";

interface Inputs {
  readonly x: Value; // [B, T, 6]
  readonly y: Value; // [B, 5]
  readonly ids: Value; // [B, T]
}

const refusals: readonly [string, (b: GraphBuilder, inputs: Inputs) => unknown, RegExp][] = [
  ["sizes that do not broadcast", (b, { x, y }) => b.add(x, y), /add: \[B, T, 6\] and \[B, 5\]/],
  [
    "different types",
    (b, { x, ids }) => b.multiply(x, b.reshape(ids, ["B", "T", 1])),
    /multiply: float32 with int64/,
  ],
  [
    "arithmetic on booleans",
    (b, { y }) => b.add(b.less(y, 0), b.less(y, 0)),
    /add: numbers expected, got bool/,
  ],
  [
    "different inner sizes",
    (b, { x, y }) => b.matMul(x, y),
    /matMul: inner sizes of \[B, T, 6\] by \[B, 5\] differ/,
  ],
  ["a product of vectors", (b, { x }) => b.matMul(x, b.constant("float32", [2], [1, 2])), /needs matrices/],
  [
    "a reshape of another size",
    (b, { x }) => b.reshape(x, ["B*T", 5]),
    /reshape: \[B, T, 6\] does not have the size of \[B\*T, 5\]/,
  ],
  [
    "a transpose that drops an axis",
    (b, { x }) => b.transpose(x, [0, 1, 1]),
    /transpose: \[0, 1, 1\] does not permute/,
  ],
  [
    "a concat of tensors that differ in another axis",
    (b, { x, y }) => b.concat([x, b.reshape(y, ["B", 1, 5])], 1),
    /concat/,
  ],
  ["a slice past the end", (b, { y }) => b.slice(y, 1, 0, 6), /slice: 0\.\.6 is outside axis 1 of \[B, 5\]/],
  ["a missing axis", (b, { y }) => b.reduceSum(y, [2]), /\[B, 5\] has no axis 2/],
  [
    "an expansion that shrinks",
    (b, { y }) => b.expand(y, ["B", 1]),
    /expand: \[B, 5\] does not expand to \[B, 1\]/,
  ],
  ["non-integer ids", (b, { x, y }) => b.gatherRows(x, y), /gatherRows: int64 expected, got float32/],
  ["ids of other rows", (b, { x, y }) => b.tokenLogprob(x, b.cast(y, "int64")), /tokenLogprob: ids \[B, 5\]/],
  [
    "a norm of another width",
    (b, { x }) => b.rmsNorm(x, b.parameter("w", [5]), 1e-6),
    /rmsNorm: weight \[5\]/,
  ],
  [
    "heads that do not divide",
    (b, { x }) => b.causalAttention(x, x, x, { queryHeads: 4, kvHeads: 2, scale: 1 }),
    /causalAttention: 4 and 2 heads/,
  ],
  [
    "keys of another length",
    (b, { x }) => b.causalAttention(x, b.slice(x, 1, 0, 1), x, { queryHeads: 2, kvHeads: 2, scale: 1 }),
    /causalAttention: 2 and 2 heads of \[B, T, 6\], \[B, 1, 6\], \[B, T, 6\]/,
  ],
  [
    "a head size that is not an integer",
    (b, { x }) => b.causalAttention(x, x, x, { queryHeads: 4, kvHeads: 4, scale: 1 }),
    /causalAttention: 4 and 4 heads/,
  ],
  [
    "a cache of more than one row",
    (b, { x }) => {
      const past = b.reshape(x, ["B", 2, "T", 3]);
      const length = b.constant("int64", [1], [1]);
      const one = b.input("one", "float32", [1, 4, 6]);
      const heads = { queryHeads: 2, kvHeads: 2, scale: 1 };
      return b.continuedAttention({ q: one, k: one, v: one }, { keys: past, values: past, length }, heads);
    },
    /continuedAttention: \[1, 4, 6\] after \[B, 2, T, 3\]/,
  ],
  ["picks of other rows", (b, { x, y }) => b.gatherLast(x, b.cast(y, "int64")), /gatherLast: ids \[B, 5\]/],
  [
    "a rotation by tables of another width",
    (b, { x, ids }) => {
      const [cos, sin] = ["cos", "sin"].map((name) => b.parameter(name, [9, 2]));
      return b.rotary(x, ids, { cos, sin, headSize: 4 });
    },
    /rotary: \[B, T, 6\] in heads of 4 with positions \[B, T\], cos \[9, 2\], sin \[9, 2\]/,
  ],
  [
    "a rotation of more channels than a head has",
    (b, { x, ids }) => {
      const [cos, sin] = ["cos", "sin"].map((name) => b.parameter(name, [9, 2]));
      return b.rotary(x, ids, { cos, sin, headSize: 3 });
    },
    /rotary: \[B, T, 6\] in heads of 3/,
  ],
  [
    "a rotation by tables of different sizes",
    (b, { x, ids }) => {
      const [cos, sin] = [b.parameter("cos", [9, 3]), b.parameter("sin", [8, 3])];
      return b.rotary(x, ids, { cos, sin, headSize: 6 });
    },
    /rotary: .* cos \[9, 3\], sin \[8, 3\]/,
  ],
  [
    "positions of other rows",
    (b, { x, y }) => {
      const [cos, sin] = ["cos", "sin"].map((name) => b.parameter(name, [9, 3]));
      return b.rotary(x, b.cast(y, "int64"), { cos, sin, headSize: 6 });
    },
    /rotary: \[B, T, 6\] in heads of 6 with positions \[B, 5\]/,
  ],
  ["a slice that ends before it begins", (b, { y }) => b.slice(y, 1, 3, 2), /slice: 3\.\.2 is outside/],
  ["a slice that begins before its axis", (b, { y }) => b.slice(y, 1, -1, 2), /slice: -1\.\.2 is outside/],
  ["a transpose of too few axes", (b, { x }) => b.transpose(x, [1, 0]), /\[1, 0\] does not permute/],
  ["logic on numbers", (b, { y }) => b.and(y, y), /and: bool expected, got float32 \[B, 5\]/],
  ["a constant of another size", (b) => b.constant("float32", [2], [1]), /constant: 1 values for \[2\]/],
  ["a name used twice", (b) => b.input("x", "int64", []), /called x/],
  ["an output named like an input", (b, { x }) => b.build({ y: x }), /output y/],
  ["a value of another builder", (_, { x }) => new GraphBuilder().exp(x), /another builder/],
  ["a limit above its maximum", (b, { y }) => b.clip(y, 1, 0), /clip: minimum 1 is above maximum 0/],
];

for (const [name, build, message] of refusals) {
  test(`refuses ${name}`, () => {
    const builder = new GraphBuilder();
    const inputs = {
      x: builder.input("x", "float32", ["B", "T", 6]),
      y: builder.input("y", "float32", ["B", 5]),
      ids: builder.input("ids", "int64", ["B", "T"]),
    };
    assert.throws(() => build(builder, inputs), message);
  });
}

test("adds up rows only if each has an id", () => {
  const updates = { dtype: "float32", shape: ["N", 4] } as const;
  const idsOf = (shape: readonly string[]) => ({ dtype: "int64", shape }) as const;
  const added = shapeRules.scatterAddRows([updates, idsOf(["N"])], { rows: 9 });
  assert.deepEqual(added, [{ dtype: "float32", shape: [9, 4] }]);
  const add = (): unknown => shapeRules.scatterAddRows([updates, idsOf(["M"])], { rows: 9 });
  assert.throws(add, /ids \[M\] do not lead updates \[N, 4\]/);
});

test("leaves out repeated, redundant and unneeded operations", () => {
  const b = new GraphBuilder();
  const x = b.input("x", "float32", ["B", 6]);
  b.exp(x);
  const same = b.expand(b.slice(b.cast(b.transpose(x, [0, 1]), "float32"), 1, 0), ["B", 6]);
  assert.equal(same, x);
  assert.equal(b.reshape(b.reshape(x, ["6*B"]), ["B", 6]), x);
  const half = b.add(b.multiply(x, 0.5), b.multiply(x, 0.5));
  const text = printGraph(b.build({ half }));
  assert.equal(
    text,
    [
      "v0: float32[B, 6] = input() {name: x}",
      "v1: float32[] = constant() {values: [0.5]}",
      "v2: float32[B, 6] = multiply(v0, v1)",
      "v3: float32[B, 6] = add(v2, v2)",
      "return half = v3",
      "",
    ].join("\n"),
  );
});

test("shares masks between layers", () => {
  const b = new GraphBuilder();
  b.input("x", "float32", ["T"]);
  assert.equal(causalMask(b, "T", 4), causalMask(b, "T", 4));
  assert.notEqual(causalMask(b, "T", 4), causalMask(b, "T"));
});

test("fused attention sees all earlier positions unless a window is set", () => {
  const b = new GraphBuilder();
  const fresh = b.input("fresh", "float32", [1, "T", 4]);
  const cached = b.input("cached", "float32", [1, 2, "C", 2]);
  const inputs = { q: fresh, k: fresh, v: fresh };
  const past = { keys: cached, values: cached, length: b.input("length", "int64", [1]) };
  const heads = { queryHeads: 2, kvHeads: 2, scale: 1 };
  const whole = b.continuedAttention(inputs, past, heads);
  assert.equal(whole, b.continuedAttention(inputs, past, { ...heads, window: 0 }));
  const first = b.causalAttention(fresh, fresh, fresh, heads);
  assert.equal(first.attention, b.causalAttention(fresh, fresh, fresh, { ...heads, window: 0 }).attention);
});

test("keeps unneeded inputs but not unneeded parameters", () => {
  const b = new GraphBuilder();
  b.input("unused", "float32", [1]);
  b.parameter("unusedWeight", [1]);
  const graph = b.build({ y: b.exp(b.parameter("weight", [2])) });
  assert.deepEqual(
    graph.inputs.map(({ name }) => name),
    ["unused"],
  );
  assert.deepEqual(
    graph.parameters.map(({ name }) => name),
    ["weight"],
  );
});
