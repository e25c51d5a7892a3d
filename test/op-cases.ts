// Small examples of every graph operation, for the tests of gradients and of lowering. The record is exhaustive: an
// operation kind without an example does not compile.
import { present } from "../src/base/domain/assert.ts";
import { seededRandom } from "../src/base/domain/random.ts";
import { cacheAttention, cacheMask, causalMask, selfAttention } from "../src/lib/graph/attention.ts";
import { GraphBuilder } from "../src/lib/graph/builder.ts";
import type { DeltaChunks } from "../src/lib/graph/builder.ts";
import type { Shape } from "../src/lib/graph/dimension.ts";
import { chunkedGated } from "../src/lib/graph/gated.ts";
import { gradient } from "../src/lib/graph/gradient.ts";
import type { OpKind, Value } from "../src/lib/graph/graph.ts";
import { recomputed } from "../src/lib/graph/recompute.ts";
import { elementCount, float32Tensor, int64Tensor } from "../src/lib/graph/tensor.ts";
import type { Tensor } from "../src/lib/graph/tensor.ts";

interface CaseInput {
  readonly tensor: Tensor;
  /** Declared shape of the input, in which symbols stand for some sizes. */
  readonly shape: Shape;
}

type Values = Readonly<Record<string, Value>>;

export interface OpCase {
  readonly inputs: Readonly<Record<string, CaseInput>>;
  /** Names of float inputs for which no gradient is computed. */
  readonly fixed?: readonly string[];
  readonly build: (builder: GraphBuilder, value: (name: string) => Value) => Value | readonly Value[];
}

/** The graph of an example; its outputs are named result0, result1, … */
export interface BuiltCase {
  readonly builder: GraphBuilder;
  /** Inputs for which gradients are computed, by name. */
  readonly wanted: Values;
  readonly results: Values;
  readonly feeds: Readonly<Record<string, Tensor>>;
}

export function buildCase({ inputs, fixed = [], build }: OpCase): BuiltCase {
  const builder = new GraphBuilder();
  const entries = Object.entries(inputs);
  const values = Object.fromEntries(
    entries.map(([name, { tensor, shape }]) => [name, builder.input(name, tensor.dtype, shape)]),
  );
  const built = build(builder, (name) => present(values[name], `input ${name}`));
  const list = Array.isArray(built) ? (built as readonly Value[]) : [built as Value];
  const isWanted = ([name, { dtype }]: [string, Value]) => dtype === "float32" && !fixed.includes(name);
  return {
    builder,
    wanted: Object.fromEntries(Object.entries(values).filter(isWanted)),
    results: Object.fromEntries(list.map((value, index) => [`result${index}`, value])),
    feeds: Object.fromEntries(entries.map(([name, { tensor }]) => [name, tensor])),
  };
}

/**
 * Returns the example's gradients, named `slope <input>`. The loss is Σ r·tanh(r), whose slope differs at each element.
 */
export function differentiateCase({ builder, wanted, results }: BuiltCase): {
  readonly loss: Value;
  readonly slopes: Values;
} {
  const loss = Object.values(results)
    .filter(({ dtype }) => dtype === "float32")
    .map((result) => builder.reduceSum(builder.multiply(result, builder.tanh(result))))
    .reduce((left, right) => builder.add(left, right), builder.scalar(0));
  const slopes = gradient(builder, loss, Object.values(wanted));
  return {
    loss,
    slopes: Object.fromEntries(
      Object.keys(wanted).map((name, index) => [`slope ${name}`, present(slopes[index], "a gradient")]),
    ),
  };
}

const matrix = floats("x", [2, 3], { shape: ["B", 3] });
const positive = floats("x", [2, 3], { low: 0.5, high: 2, shape: ["B", 3] });
const pair = {
  ...floats("a", [2, 1, 3], { shape: ["B", 1, 3] }),
  ...floats("b", [4, 3], { shape: ["T", 3] }),
};
const flags = (name: string): OpCase["inputs"] => ints(name, [2, 3], [0, 1, 0, 1, 1, 0]);
const tables = (positions: number, half: number): OpCase["inputs"] => ({
  ...floats("cos", [positions, half]),
  ...floats("sin", [positions, half]),
});
const headOptions = { queryHeads: 4, kvHeads: 2, headSize: 8, scale: 0.3 };
const qkv = (length: number, shape: string | number, rows: 1 | 2 = 2, headSize = 8): OpCase["inputs"] => {
  const batch = rows === 1 ? 1 : "B";
  return {
    ...floats("q", [rows, length, 4 * headSize], { shape: [batch, shape, 4 * headSize] }),
    ...floats("k", [rows, length, 2 * headSize], { shape: [batch, shape, 2 * headSize] }),
    ...floats("v", [rows, length, 2 * headSize], { shape: [batch, shape, 2 * headSize] }),
  };
};

/** Pairs of window and head size. The fused kernel supports no heads of size 6, except padded ones. */
const windowsAndHeads = [
  [0, 8],
  [3, 8],
  [0, 6],
  [3, 6],
] as const;

/** More queries than fit into one block. */
const severalBlocks = {
  ...floats("q", [1, 130, 8], { shape: ["B", "T", 8] }),
  ...floats("k", [1, 130, 4], { shape: ["B", "T", 4] }),
  ...floats("v", [1, 130, 4], { shape: ["B", "T", 4] }),
  ...floats("gradient", [1, 130, 8], { shape: ["B", "T", 8] }),
};
const severalBlocksHeads = { queryHeads: 2, kvHeads: 1, scale: 2 };

const deltaChunks = {
  ...floats("u", [3, 2, 2, 4, 2], { shape: ["N", "B", 2, 4, 2] }),
  ...floats("w", [3, 2, 2, 4, 3], { shape: ["N", "B", 2, 4, 3] }),
  ...floats("q", [3, 2, 2, 4, 3], { shape: ["N", "B", 2, 4, 3] }),
  ...floats("p", [3, 2, 2, 4, 4], { shape: ["N", "B", 2, 4, 4] }),
  ...floats("k", [3, 2, 2, 4, 3], { shape: ["N", "B", 2, 4, 3] }),
  ...floats("decay", [3, 2, 2, 1, 1], { shape: ["N", "B", 2, 1, 1] }),
};

function deltaOperands(value: (name: string) => Value): DeltaChunks {
  const [u, w, q, p, k, decay] = ["u", "w", "q", "p", "k", "decay"].map(value);
  return { u, w, q, p, k, decay };
}

const codeTypes = ["int8", "uint8"] as const;

/**
 * Quantizes weights to 8-bit codes. Signed codes are halved, so that the sum of two products fits into 16 bits and is
 * exact on every processor.
 *
 * @param numbers numbers from -127 to 127
 */
function codesOf(
  b: GraphBuilder,
  dtype: (typeof codeTypes)[number],
  shape: readonly number[],
  numbers: readonly number[],
): Value {
  const codes = numbers.map((number) => (dtype === "int8" ? Math.trunc(number / 2) : number + 128));
  return b.constant(dtype, shape, codes);
}

/** Returns rows that belong to 3 of 4 experts. */
function expertRows(isTransposed: boolean): OpCase["inputs"] {
  const width = isTransposed ? 3 : 64;
  return {
    ...floats("x", [6, width], { shape: ["P", width] }),
    ...ints("experts", [6], [2, 0, 2, 2, 3, 0], ["P"]),
  };
}

export const opCases: { readonly [K in OpKind]: readonly OpCase[] } = {
  input: [{ inputs: matrix, build: (_, value) => value("x") }],
  parameter: [],
  constant: [
    { inputs: matrix, build: (b, value) => b.add(value("x"), b.constant("float32", [3], [1, -2, 3.5])) },
  ],
  iota: [{ inputs: matrix, build: (b) => [b.iota("B"), b.iota("2*B+1"), b.iota(4)] }],

  negate: [{ inputs: matrix, build: (b, value) => b.negate(value("x")) }],
  exp: [{ inputs: matrix, build: (b, value) => b.exp(value("x")) }],
  log: [{ inputs: positive, build: (b, value) => b.log(value("x")) }],
  sqrt: [{ inputs: positive, build: (b, value) => b.sqrt(value("x")) }],
  tanh: [{ inputs: matrix, build: (b, value) => b.tanh(value("x")) }],
  sigmoid: [{ inputs: matrix, build: (b, value) => b.sigmoid(value("x")) }],
  silu: [{ inputs: matrix, build: (b, value) => b.silu(value("x")) }],
  geluTanh: [{ inputs: matrix, build: (b, value) => b.geluTanh(value("x")) }],
  not: [{ inputs: flags("x"), build: (b, value) => b.not(b.cast(value("x"), "bool")) }],
  cast: [
    { inputs: flags("x"), build: (b, value) => b.cast(value("x"), "float32") },
    { inputs: matrix, build: (b, value) => [b.cast(value("x"), "int64"), b.cast(value("x"), "int32")] },
  ],
  clip: [{ inputs: matrix, build: (b, value) => b.clip(value("x"), -0.5, 0.25) }],
  stopGradient: [{ inputs: matrix, build: (b, value) => b.stopGradient(value("x")) }],

  after: [
    { inputs: pair, build: (b, value) => b.after(value("a"), [value("b")]) },
    {
      inputs: { ...pair, ...flags("x"), ...floats("none", [0, 3], { shape: ["Z", 3] }) },
      fixed: ["none"],
      build: (b, value) => b.after(b.exp(value("b")), [value("none"), value("x"), value("a")]),
    },
  ],
  kept: [{ inputs: matrix, build: (b, value) => b.kept(b.exp(value("x"))) }],
  recomputed: [
    { inputs: matrix, build: (b, value) => recomputed(b, [value("x")], (x) => b.exp(b.tanh(x))) },
    { inputs: matrix, build: (b, value) => recomputed(b, [value("x")], (x) => x) },
  ],

  add: [
    { inputs: pair, build: (b, value) => b.add(value("a"), value("b")) },
    { inputs: matrix, build: (b, value) => b.add(value("x"), value("x")) },
  ],
  subtract: [{ inputs: pair, build: (b, value) => b.subtract(value("a"), value("b")) }],
  multiply: [{ inputs: pair, build: (b, value) => b.multiply(value("a"), value("b")) }],
  divide: [
    {
      inputs: { ...floats("a", [2, 3]), ...floats("b", [3], { low: 0.5, high: 2 }) },
      build: (b, value) => b.divide(value("a"), value("b")),
    },
  ],
  maximum: [{ inputs: pair, build: (b, value) => b.maximum(value("a"), value("b")) }],
  minimum: [{ inputs: pair, build: (b, value) => b.minimum(value("a"), 0.1) }],
  less: [{ inputs: pair, build: (b, value) => b.less(value("a"), value("b")) }],
  lessOrEqual: [{ inputs: flags("x"), build: (b, value) => b.lessOrEqual(value("x"), 0) }],
  greater: [{ inputs: pair, build: (b, value) => b.greater(value("a"), value("b")) }],
  greaterOrEqual: [{ inputs: flags("x"), build: (b, value) => b.greaterOrEqual(value("x"), 1) }],
  equal: [{ inputs: flags("x"), build: (b, value) => b.equal(value("x"), 1) }],
  and: [{ inputs: matrix, build: (b, value) => b.and(b.less(value("x"), 0.5), b.greater(value("x"), -0.5)) }],
  or: [{ inputs: matrix, build: (b, value) => b.or(b.less(value("x"), -0.5), b.greater(value("x"), 0.5)) }],
  where: [
    {
      inputs: { ...flags("x"), ...floats("a", [2, 3]), ...floats("b", [3]) },
      build: (b, value) => b.where(b.cast(value("x"), "bool"), value("a"), value("b")),
    },
  ],

  reshape: [
    {
      inputs: { ...floats("x", [4, 6], { shape: ["R", 6] }), ...floats("y", [2, 2], { shape: ["B", "T"] }) },
      build: (b, value) => {
        const table = b.matMul(
          b.reshape(value("y"), ["B*T", 1]),
          b.constant("float32", [1, 6], [1, 2, 3, 4, 5, 6]),
        );
        return [b.reshape(value("x"), [2, "R", 3]), b.reshape(table, ["B", "T", 2, 3])];
      },
    },
  ],
  transpose: [
    {
      inputs: floats("x", [2, 3, 4], { shape: ["B", 3, "T"] }),
      build: (b, value) => b.transpose(value("x"), [2, 0, 1]),
    },
  ],
  concat: [
    {
      inputs: { ...floats("a", [2, 3], { shape: [2, "C"] }), ...floats("b", [2, 2], { shape: [2, "T"] }) },
      build: (b, value) => b.concat([value("a"), value("b"), value("a")], -1),
    },
  ],
  slice: [
    {
      inputs: { ...floats("x", [2, 6]), ...floats("n", [2], { shape: ["N"] }) },
      build: (b, value) => b.slice(value("x"), 1, "N", "N+3"),
    },
    { inputs: floats("x", [5, 2], { shape: ["T", 2] }), build: (b, value) => b.slice(value("x"), 0, 1) },
  ],
  expand: [
    {
      inputs: { ...floats("x", [3, 1]), ...floats("n", [2], { shape: ["N"] }) },
      build: (b, value) => b.expand(value("x"), ["N", 3, 4]),
    },
  ],

  reduceSum: [
    { inputs: floats("x", [2, 3, 4]), build: (b, value) => b.reduceSum(value("x"), [0, -1]) },
    { inputs: floats("x", [2, 3]), build: (b, value) => b.reduceSum(value("x")) },
  ],
  reduceMean: [
    { inputs: floats("x", [2, 3, 4]), build: (b, value) => b.reduceMean(value("x"), [1], true) },
    {
      inputs: floats("x", [2, 3], { shape: ["B", 3] }),
      build: (b, value) => b.reduceMean(value("x"), [0]),
    },
  ],
  reduceMax: [{ inputs: floats("x", [2, 3, 4]), build: (b, value) => b.reduceMax(value("x"), [-1]) }],

  matMul: [
    ...[false, true].flatMap((transposeA) =>
      [false, true].map((transposeB): OpCase => ({
        inputs: {
          ...floats("a", transposeA ? [2, 1, 4, 3] : [2, 1, 3, 4], {
            shape: transposeA ? ["B", 1, 4, "T"] : ["B", 1, "T", 4],
          }),
          ...floats("b", transposeB ? [5, 2, 4] : [5, 4, 2]),
        },
        build: (b, value) => b.matMul(value("a"), value("b"), { transposeA, transposeB, alpha: 0.7 }),
      })),
    ),
    ...[false, true].flatMap((transposeA) =>
      [false, true].map((transposeB): OpCase => ({
        inputs: {
          ...floats("a", transposeA ? [2, 4, 3] : [2, 3, 4], {
            shape: transposeA ? ["B", 4, 3] : ["B", "T", 4],
          }),
          ...floats("b", transposeB ? [2, 4] : [4, 2]),
        },
        build: (b, value) => b.matMul(value("a"), value("b"), { transposeA, transposeB }),
      })),
    ),
  ],

  gemm: [
    {
      inputs: {
        ...floats("a", [3, 4], { shape: ["N", 4] }),
        ...floats("b", [5, 4]),
        ...floats("c", [3, 5], { shape: ["N", 5] }),
      },
      build: (b, value) => b.gemm(value("a"), value("b"), value("c"), { alpha: 0.7 }),
    },
  ],

  gatherRows: [
    {
      inputs: { ...floats("table", [5, 3]), ...ints("ids", [2, 3], [4, 0, 0, 1, 4, 4], ["B", "T"]) },
      build: (b, value) => b.gatherRows(value("table"), value("ids")),
    },
  ],
  gatherColumns: [
    {
      inputs: { ...floats("table", [3, 5]), ...ints("ids", [2, 3], [4, 0, 0, 1, 4, 4], ["B", "T"]) },
      build: (b, value) => b.gatherColumns(value("table"), value("ids")),
    },
  ],
  int8MatMul: codeTypes.map((dtype): OpCase => ({
    inputs: floats("x", [2, 3, 4], { shape: ["B", "T", 4] }),
    build: (b, value) => {
      const weight = codesOf(b, dtype, [4, 2], [1, -127, 127, 0, -50, 3, 90, 77]);
      const scales = b.constant("float32", [2], [0.02, 0.5]);
      const x = value("x");
      // Two products have the same operand, whose codes must be computed only once. Some rows are zeros.
      return [
        b.int8MatMul(x, weight, scales),
        b.int8MatMul(x, codesOf(b, dtype, [4, 1], [5, 100, -127, 3]), b.full([1], 0.1)),
        b.int8MatMul(b.multiply(x, 0), weight, scales),
      ];
    },
  })),
  int8BackMatMul: codeTypes.map((dtype): OpCase => ({
    inputs: floats("x", [6, 2], { shape: ["N", 2] }),
    build: (b, value) => {
      const weight = codesOf(b, dtype, [4, 2], [1, -127, 127, 0, -50, 3, 90, 77]);
      const scales = b.constant("float32", [2], [0.02, 0.5]);
      // Some rows are zeros.
      return [
        b.int8BackMatMul(value("x"), weight, scales),
        b.int8BackMatMul(b.multiply(value("x"), 0), weight, scales),
      ];
    },
  })),
  int8LinearLogprob: [2, 300].flatMap((count) =>
    codeTypes.map((dtype): OpCase => ({
      inputs: {
        ...floats("x", [count, 3], { shape: ["N", 3] }),
        ...ints(
          "ids",
          [count],
          Array.from({ length: count }, (_, row) => (3 * row) % 5),
          ["N"],
        ),
      },
      build: (b, value) => {
        const codes = [10, -127, 127, 0, -50, 3, 90, 77, -5, 64, 31, -100, 8, 55, -9];
        const weight = {
          codes: codesOf(b, dtype, [3, 5], codes),
          scales: b.constant("float32", [5], [0.002, 0.001, 0.003, 0.004, 0.002]),
        };
        const { logprobs, entropies } = b.int8LinearLogprob(value("x"), weight, value("ids"));
        return [logprobs, entropies];
      },
    })),
  ),
  int4MatMul: [
    {
      inputs: floats("x", [5, 64], { shape: ["N", 64] }),
      build: (b, value) => {
        const bytes = Array.from({ length: 3 * 2 * 16 }, (_, index) => (index * 89 + 13) % 256);
        const scales = b.constant("float32", [3, 2], [0.1, 0.7, 0.01, 1.5, 0.3, 0.2]);
        return b.int4MatMul(value("x"), b.constant("uint8", [3, 2, 16], bytes), scales);
      },
    },
  ],
  moveRows: [
    {
      inputs: {
        ...floats("table", [4, 3], { shape: ["N", 3] }),
        ...ints("ids", [2, 2], [2, 0, 3, 1], ["B", "T"]),
        ...ints("places", [4], [1, 3, 0, 2], ["N"]),
      },
      build: (b, value) => b.moveRows(value("table"), value("ids"), value("places")),
    },
    {
      // No id selects row 3 of the table.
      inputs: {
        ...floats("table", [5, 3]),
        ...ints("ids", [2, 2], [4, 1, 0, 2], ["B", "T"]),
        ...ints("places", [5], [2, 1, 3, 4, 0]),
      },
      build: (b, value) => b.moveRows(value("table"), value("ids"), value("places"), { isPartial: true }),
    },
  ],
  placeRows: [
    {
      // The id 3 occurs twice; both times the same row is written to it.
      inputs: {
        ...floats("table", [5, 3], { shape: ["N", 3] }),
        ...floats("row", [1, 3]),
        ...ints("ids", [3], [3, 0, 3], ["M"]),
      },
      build: (b, value) => b.placeRows(value("table"), b.expand(value("row"), ["M", 3]), value("ids")),
    },
  ],
  scatterAddRows: [
    {
      inputs: {
        ...floats("x", [2, 3, 2], { shape: ["B", "T", 2] }),
        ...ints("ids", [2, 3], [4, 0, 0, 1, 4, 4], ["B", "T"]),
      },
      build: (b, value) => b.scatterAddRows(value("x"), value("ids"), 6),
    },
  ],
  expertMatMul: [false, true].flatMap((isTransposed): readonly OpCase[] => [
    {
      inputs: { ...expertRows(isTransposed), ...floats("weight", [4, 3, 64]) },
      fixed: ["weight"],
      build: (b, value) => {
        const options = { tileRows: 2, isTransposed };
        return b.expertMatMul(value("x"), value("experts"), [value("weight")], options);
      },
    },
    ...codeTypes.map((form): OpCase => ({
      inputs: { ...expertRows(isTransposed), ...floats("scales", [4, 3]) },
      fixed: ["x", "scales"],
      build: (b, value) => {
        const numbers = Array.from({ length: 4 * 64 * 3 }, (_, index) => ((index * 89) % 255) - 127);
        const parts = [codesOf(b, form, [4, 64, 3], numbers), value("scales")];
        const options = { tileRows: 1, isTransposed };
        return b.expertMatMul(value("x"), value("experts"), parts, options);
      },
    })),
  ]),
  topIds: [
    {
      inputs: floats("x", [3, 2, 7], { shape: ["B", "T", 7] }),
      build: (b, value) => b.topIds(value("x"), 3),
    },
  ],
  gatherLast: [
    {
      inputs: {
        ...floats("x", [2, 5], { shape: ["B", 5] }),
        ...ints("ids", [2, 3], [4, 0, 0, 1, 2, 3], ["B", 3]),
      },
      build: (b, value) => b.gatherLast(value("x"), value("ids")),
    },
  ],

  softmax: [
    { inputs: floats("x", [2, 3, 4], { low: -3, high: 3 }), build: (b, value) => b.softmax(value("x")) },
  ],
  logSoftmax: [
    { inputs: floats("x", [2, 3, 4], { low: -3, high: 3 }), build: (b, value) => b.logSoftmax(value("x")) },
  ],
  tokenLogprob: [
    {
      inputs: {
        ...floats("x", [2, 3, 7], { low: -3, high: 3, shape: ["B", "T", 7] }),
        ...ints("ids", [2, 3], [4, 0, 0, 1, 6, 3], ["B", "T"]),
      },
      build: (b, value) => b.tokenLogprob(value("x"), value("ids")),
    },
  ],
  linearLogprob: [2, 300].flatMap((count): readonly OpCase[] => {
    const inputs = {
      ...floats("x", [count, 3], { shape: ["N", 3] }),
      ...floats("weight", [7, 3], { low: -2, high: 2 }),
      ...ints(
        "ids",
        [count],
        Array.from({ length: count }, (_, row) => (3 * row) % 7),
        ["N"],
      ),
    };
    const build: OpCase["build"] = (b, value) =>
      b.linearLogprob(value("x"), value("weight"), value("ids")).logprobs;
    return [
      { inputs, build },
      {
        inputs,
        fixed: ["x", "weight"],
        build: (b, value) => {
          const { logprobs, entropies } = b.linearLogprob(value("x"), value("weight"), value("ids"));
          return [entropies, logprobs];
        },
      },
    ];
  }),
  rmsNorm: [
    {
      inputs: { ...floats("x", [2, 3, 8], { shape: ["B", "T", 8] }), ...floats("w", [8]) },
      build: (b, value) => b.rmsNorm(value("x"), value("w"), 1e-3),
    },
  ],

  rotary: [8, 16].map((headSize): OpCase => ({
    inputs: {
      ...floats("x", [2, 3, 16], { shape: ["B", "T", 16] }),
      ...ints("at", [2, 3], [0, 1, 2, 3, 4, 5], ["B", "T"]),
      ...tables(6, 4),
    },
    fixed: ["cos", "sin"],
    build: (b, value) => [
      b.rotary(value("x"), value("at"), { cos: value("cos"), sin: value("sin"), headSize }),
      b.inverseRotary(value("x"), value("at"), { cos: value("cos"), sin: value("sin"), headSize }),
    ],
  })),
  causalAttention: windowsAndHeads.map(([window, headSize]): OpCase => ({
    inputs: { ...qkv(5, "T", 2, headSize), ...floats("sinks", [4]) },
    build: (b, value) => {
      // With and without sinks.
      const more = window === 0 ? {} : { window, sinks: value("sinks") };
      const options = { queryHeads: 4, kvHeads: 2, scale: 0.3, ...more };
      const { attention, keys, values } = b.causalAttention(value("q"), value("k"), value("v"), options);
      return [attention, keys, values];
    },
  })),
  blockedAttention: [
    ...[0, 3].map((window): OpCase => ({
      inputs: qkv(5, "T"),
      build: (b, value) => {
        const options = { queryHeads: 4, kvHeads: 2, scale: 0.3, window };
        return b.blockedAttention(value("q"), value("k"), value("v"), options);
      },
    })),
    ...[0, 100].map((window): OpCase => ({
      inputs: severalBlocks,
      fixed: ["q", "k", "v", "gradient"],
      build: (b, value) =>
        b.blockedAttention(value("q"), value("k"), value("v"), { ...severalBlocksHeads, window }),
    })),
  ],
  blockedAttentionGradient: [0, 100].map((window): OpCase => ({
    inputs: severalBlocks,
    build: (b, value) => {
      const [q, k, v, gradient] = [value("q"), value("k"), value("v"), value("gradient")];
      const options = { ...severalBlocksHeads, window };
      const attended = b.blockedAttention(q, k, v, options);
      return b.blockedAttentionGradient({ q, k, v, attended, gradient }, options);
    },
  })),
  continuedAttention: windowsAndHeads.map(([window, headSize]): OpCase => ({
    inputs: {
      ...qkv(5, "T", 1, headSize),
      ...floats("pastKeys", [1, 2, 6, headSize], { shape: [1, 2, "C", headSize] }),
      ...floats("pastValues", [1, 2, 6, headSize], { shape: [1, 2, "C", headSize] }),
      ...ints("past", [1], [4]),
      ...floats("sinks", [4]),
    },
    build: (b, value) =>
      b.continuedAttention(
        { q: value("q"), k: value("k"), v: value("v") },
        { keys: value("pastKeys"), values: value("pastValues"), length: value("past") },
        { queryHeads: 4, kvHeads: 2, scale: 0.3, window, ...(window > 0 && { sinks: value("sinks") }) },
      ),
  })),
  deltaAttention: [
    {
      inputs: {
        ...floats("q", [2, 5, 8], { shape: ["B", "T", 8] }),
        ...floats("k", [2, 5, 8], { shape: ["B", "T", 8] }),
        ...floats("v", [2, 5, 6], { shape: ["B", "T", 6] }),
        ...floats("logDecay", [2, 5, 2], { shape: ["B", "T", 2] }),
        ...floats("strength", [2, 5, 2], { shape: ["B", "T", 2] }),
        ...floats("state", [2, 2, 4, 3], { shape: ["B", 2, 4, 3] }),
      },
      build: (b, value) => {
        const names = ["q", "k", "v", "logDecay", "strength"] as const;
        const [q, k, v, logDecay, strength] = names.map(value);
        const options = { heads: 2, scale: 0.5 };
        const { result, newState } = b.deltaAttention(
          { q, k, v, logDecay, strength },
          value("state"),
          options,
        );
        return [result, newState];
      },
    },
  ],
  gatedAttention: [1, 2].map((keyHeads) => ({
    inputs: {
      ...floats("q", [2, 5, 4 * keyHeads], { shape: ["B", "T", 4 * keyHeads] }),
      ...floats("k", [2, 5, 4 * keyHeads], { shape: ["B", "T", 4 * keyHeads] }),
      ...floats("v", [2, 5, 12], { shape: ["B", "T", 12] }),
      ...floats("logDecay", [2, 5, 4], { shape: ["B", "T", 4] }),
      ...floats("state", [2, 4, 4, 3], { shape: ["B", 4, 4, 3] }),
    },
    build: (b, value) => {
      const [q, k, v, logDecay] = ["q", "k", "v", "logDecay"].map(value);
      const { result, newState } = b.gatedAttention({ q, k, v, logDecay }, value("state"), {
        keyHeads,
        heads: 4,
      });
      return [result, newState];
    },
  })),
  unitLowerInverse: [2, 16].map((size) => ({
    inputs: floats("x", [2, size, size], { shape: ["B", size, size] }),
    build: (b, value) => b.unitLowerInverse(value("x")),
  })),
  deltaScan: [{ inputs: deltaChunks, build: (b, value) => b.deltaScan(deltaOperands(value)) }],
  deltaScanGradient: [
    {
      inputs: { ...deltaChunks, ...floats("gradient", [3, 2, 2, 4, 2], { shape: ["N", "B", 2, 4, 2] }) },
      build: (b, value) => b.deltaScanGradient(deltaOperands(value), value("gradient")),
    },
  ],
};

/** Larger functions that consist of several operations. */
export const compositeCases: Readonly<Record<string, OpCase>> = {
  selfAttention: {
    inputs: { ...qkv(4, "T"), ...floats("sinks", [4]) },
    build: (b, value) =>
      selfAttention(
        b,
        { q: value("q"), k: value("k"), v: value("v") },
        { ...headOptions, mask: causalMask(b, "T", 2), sinks: value("sinks") },
      ),
  },
  "a recomputed part that keeps a value and captures others": {
    inputs: { ...pair, ...floats("weight", [3, 3]), ...floats("scale", [3]) },
    build: (b, value) => {
      const captured = b.exp(value("scale"));
      return recomputed(b, [value("a"), value("b")], (x, y) => {
        const product = b.kept(b.matMul(b.sigmoid(x), value("weight"), { transposeB: true }));
        return b.multiply(b.add(b.tanh(product), b.exp(y)), b.add(captured, x));
      });
    },
  },
  "a recomputed part within another": {
    inputs: { ...pair, ...floats("weight", [3, 3]) },
    build: (b, value) =>
      recomputed(b, [value("a")], (x) => {
        const inner = recomputed(b, [b.exp(x), value("b")], (y, z) =>
          b.tanh(b.matMul(b.multiply(y, z), value("weight"))),
        );
        return b.multiply(b.rmsNorm(inner, b.full([3], 1.5), 1e-3), x);
      }),
  },
  // Two chunks and part of a third.
  chunkedGated: {
    inputs: {
      ...floats("q", [2, 11, 6], { shape: ["B", "T", 6] }),
      ...floats("k", [2, 11, 6], { shape: ["B", "T", 6] }),
      ...floats("v", [2, 11, 8], { shape: ["B", "T", 8] }),
      ...floats("logDecay", [2, 11, 4], { shape: ["B", "T", 4], low: -1, high: 0 }),
      ...ints("chunks", [3], [0, 0, 0], ["U"]),
    },
    build: (b, value) => {
      const [q, k, v, logDecay] = ["q", "k", "v", "logDecay"].map(value);
      return chunkedGated(b, { q, k, v, logDecay }, { keyHeads: 2, heads: 4, chunks: "U", size: 4 });
    },
  },
  cacheAttention: {
    inputs: {
      ...qkv(1, 1),
      ...floats("cacheKeys", [2, 2, 6, 8], { shape: ["B", 2, "C", 8] }),
      ...floats("cacheValues", [2, 2, 6, 8], { shape: ["B", 2, "C", 8] }),
      ...ints("past", [2], [5, 2], ["B"]),
      ...floats("sinks", [4]),
    },
    build: (b, value) => {
      const sinks = value("sinks");
      const mask = cacheMask(b, { pastLengths: value("past"), capacity: "C", window: 4 });
      const inputs = {
        q: value("q"),
        k: value("k"),
        v: value("v"),
        cacheKeys: value("cacheKeys"),
        cacheValues: value("cacheValues"),
      };
      const { attention, keys, values } = cacheAttention(b, inputs, { ...headOptions, mask, sinks });
      return [attention, keys, values];
    },
  },
};

function floats(
  name: string,
  dims: readonly number[],
  options: { readonly low?: number; readonly high?: number; readonly shape?: Shape } = {},
): OpCase["inputs"] {
  const { low = -1, high = 1, shape = dims } = options;
  const random = seededRandom("op-cases", name, ...dims);
  const data = Float32Array.from({ length: elementCount(dims) }, () => low + (high - low) * random.uniform());
  return { [name]: { tensor: float32Tensor(dims, data), shape } };
}

function ints(
  name: string,
  dims: readonly number[],
  values: readonly number[],
  shape: Shape = dims,
): OpCase["inputs"] {
  return { [name]: { tensor: int64Tensor(dims, values), shape } };
}
