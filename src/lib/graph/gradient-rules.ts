/**
 * Gradient rules (vector-Jacobian products) of all operations, in an exhaustive record, so that a missing rule does not
 * compile.
 *
 * A rule computes the gradient with respect to each operand from the gradient with respect to the first result.
 * `gradient.ts` applies the rules from the last operation to the first.
 */
import { assert, present } from "../../base/domain/assert.ts";
import type { GraphBuilder } from "./builder.ts";
import { dimensionDifference, dimensionProduct, dimensionSum } from "./dimension.ts";
import type { Dimension } from "./dimension.ts";
import type { OpAttributes, OpKind, Value } from "./graph.ts";
import { recomputedGradients, type RecomputedBackward } from "./recompute.ts";
import { dimensionAt, replaceAt } from "./shape-rules.ts";

/** Inputs of a rule: the operation to differentiate. */
export interface Backward<K extends OpKind> extends Omit<RecomputedBackward, "inputCount"> {
  readonly attributes: OpAttributes[K];
  /** Operands of the operation; copies of the original operands if the operation is in a recomputed part. */
  readonly inputs: readonly Value[];
  /** First result of the operation; other results are never differentiated. */
  readonly output: Value;
  readonly outputs: readonly Value[];
}

/** For each operand, a function that adds the operand's gradient to the graph; undefined if the operand has none. */
export type Contributions = readonly ((() => Value) | undefined)[];

export type GradientRule<K extends OpKind> = (operation: Backward<K>) => Contributions;

/** Marks operations whose results have no derivative with respect to their operands. */
export const NOT_DIFFERENTIABLE = "not differentiable";

/** Gradient rule of each operation kind, or `NOT_DIFFERENTIABLE`. */
export const gradientRules: {
  readonly [K in OpKind]: GradientRule<K> | typeof NOT_DIFFERENTIABLE;
} = {
  input: NOT_DIFFERENTIABLE,
  parameter: NOT_DIFFERENTIABLE,
  constant: NOT_DIFFERENTIABLE,
  iota: NOT_DIFFERENTIABLE,

  negate: unary(({ builder, gradient }) => builder.negate(gradient)),
  exp: unary(({ builder, gradient, output }) => builder.multiply(gradient, output)),
  log: unary(({ builder, gradient, x }) => builder.divide(gradient, x)),
  sqrt: unary(({ builder, gradient, output }) => builder.divide(builder.multiply(gradient, 0.5), output)),
  tanh: unary(({ builder, gradient, output }) =>
    builder.multiply(gradient, builder.subtract(1, builder.multiply(output, output))),
  ),
  sigmoid: unary(({ builder, gradient, output }) =>
    builder.multiply(gradient, builder.multiply(output, builder.subtract(1, output))),
  ),
  silu: unary(({ builder, gradient, x, output }) => {
    const gate = builder.sigmoid(x);
    const slope = builder.add(gate, builder.multiply(output, builder.subtract(1, gate)));
    return builder.multiply(gradient, slope);
  }),
  geluTanh: unary(({ builder, gradient, x }) => builder.multiply(gradient, geluSlope(builder, x))),
  not: NOT_DIFFERENTIABLE,
  cast: ({ builder, inputs: [x], gradient }) =>
    x?.dtype === "float32" && gradient.dtype === "float32" ? [() => builder.cast(gradient, x.dtype)] : [],
  clip: unary(({ builder, attributes, gradient, x }) => {
    const { minimum, maximum } = attributes;
    const isAbove = builder.greaterOrEqual(x, minimum);
    const isInside = builder.and(isAbove, builder.lessOrEqual(x, maximum));
    return builder.where(isInside, gradient, 0);
  }),
  stopGradient: NOT_DIFFERENTIABLE,

  add: ({ gradient }) => [() => gradient, () => gradient],
  subtract: ({ builder, gradient }) => [() => gradient, () => builder.negate(gradient)],
  multiply: binary(({ builder, a, b, gradient }) => [
    () => builder.multiply(gradient, b),
    () => builder.multiply(gradient, a),
  ]),
  divide: binary(({ builder, b, output, gradient }) => [
    () => builder.divide(gradient, b),
    () => builder.negate(builder.divide(builder.multiply(gradient, output), b)),
  ]),
  maximum: extremum("greater"),
  minimum: extremum("less"),
  less: NOT_DIFFERENTIABLE,
  lessOrEqual: NOT_DIFFERENTIABLE,
  greater: NOT_DIFFERENTIABLE,
  greaterOrEqual: NOT_DIFFERENTIABLE,
  equal: NOT_DIFFERENTIABLE,
  and: NOT_DIFFERENTIABLE,
  or: NOT_DIFFERENTIABLE,
  where: ({ builder, inputs, gradient }) => {
    const condition = present(inputs[0], "a condition");
    return [
      undefined,
      () => builder.where(condition, gradient, 0),
      () => builder.where(condition, 0, gradient),
    ];
  },

  after: unary(({ gradient }) => gradient),
  kept: unary(({ gradient }) => gradient),
  recomputed: ({ attributes: { inputCount }, ...operation }) =>
    recomputedGradients({ ...operation, inputCount }).map((slope) => slope && (() => slope)),

  reshape: unary(({ builder, gradient, x }) => builder.reshape(gradient, x.shape)),
  transpose: unary(({ builder, attributes: { permutation }, gradient }) =>
    builder.transpose(
      gradient,
      permutation.map((_, axis) => permutation.indexOf(axis)),
    ),
  ),
  concat: ({ builder, inputs, attributes: { axis }, gradient }) => {
    let start: Dimension = 0;
    return inputs.map(({ shape }) => {
      const from = start;
      const end = dimensionSum([from, dimensionAt(shape, axis)]);
      start = end;
      return () => builder.slice(gradient, axis, from, end);
    });
  },
  slice: unary(({ builder, attributes: { axis, start, end }, gradient, x }) => {
    const size = dimensionAt(x.shape, axis);
    const zeros = (count: Dimension) => builder.full(replaceAt(x.shape, axis, count), 0);
    const parts = [gradient];
    if (start !== 0) parts.unshift(zeros(start));
    if (end !== size) parts.push(zeros(dimensionDifference(size, end)));
    return builder.concat(parts, axis);
  }),
  expand: unary(({ gradient }) => gradient),

  reduceSum: unary(({ builder, attributes, gradient, x }) =>
    builder.expand(restoreAxes(builder, gradient, x, attributes.axes), x.shape),
  ),
  reduceMean: unary(({ builder, attributes, gradient, x }) => {
    const kept = restoreAxes(builder, gradient, x, attributes.axes);
    const size = dimensionProduct(attributes.axes.map((axis) => dimensionAt(x.shape, axis)));
    const count =
      typeof size === "number" ? size : builder.reduceSum(builder.full(x.shape, 1), attributes.axes, true);
    return builder.expand(builder.divide(kept, count), x.shape);
  }),
  reduceMax: unary(({ builder, attributes: { axes }, gradient, output, x }) => {
    const isLargest = builder.equal(x, restoreAxes(builder, output, x, axes));
    const share = builder.cast(isLargest, "float32");
    const count = builder.reduceSum(share, axes, true);
    const kept = restoreAxes(builder, gradient, x, axes);
    return builder.multiply(share, builder.divide(kept, count));
  }),

  matMul: binary(({ builder, attributes, a, b, gradient }) => [
    () => leftGradient(builder, attributes, { b, gradient }),
    () => rightGradient(builder, attributes, { a, b, gradient }),
  ]),

  gemm: ({ builder, inputs: [a, b], attributes: { alpha }, gradient }) => [
    () => builder.matMul(gradient, present(b, "a matrix"), { alpha }),
    () => builder.matMul(gradient, present(a, "a matrix"), { transposeA: true, alpha }),
    () => gradient,
  ],

  // Only x has a gradient: 8-bit weights are frozen. Rounding is treated as the identity.
  int8MatMul: ({ builder, inputs: [x, weight, scales], gradient }) => [
    () => {
      const rows = flattenRows(builder, gradient);
      const slope = builder.int8BackMatMul(rows, present(weight, "a weight"), present(scales, "scales"));
      return builder.reshape(slope, present(x, "an operand").shape);
    },
  ],
  int8BackMatMul: NOT_DIFFERENTIABLE,
  int4MatMul: NOT_DIFFERENTIABLE,
  // Only x has a gradient: the weights of experts are frozen. Rounding is treated as the identity.
  expertMatMul: ({ builder, inputs: [, experts, ...parts], attributes, gradient }) => [
    () => {
      const isTransposed = !attributes.isTransposed;
      return builder.expertMatMul(gradient, present(experts, "experts"), parts, {
        ...attributes,
        isTransposed,
      });
    },
  ],

  gatherRows: ({ builder, inputs: [table, ids], gradient }) => [
    () => {
      const rows = dimensionAt(present(table, "a table").shape, 0);
      return builder.scatterAddRows(gradient, present(ids, "ids"), rows);
    },
  ],
  gatherColumns: NOT_DIFFERENTIABLE,
  moveRows: ({ builder, inputs: [table, ids, places], attributes: { isPartial }, gradient }) => [
    () => {
      const rest = present(table, "a table").shape.slice(1);
      const flat = builder.reshape(gradient, [dimensionProduct(present(ids, "ids").shape), ...rest]);
      const rows = isPartial ? builder.concat([flat, builder.full([1, ...rest], 0)], 0) : flat;
      return builder.gatherRows(rows, present(places, "places"));
    },
  ],
  placeRows: NOT_DIFFERENTIABLE,
  scatterAddRows: ({ builder, inputs: [, ids], gradient }) => [
    () => builder.gatherRows(gradient, present(ids, "ids")),
  ],
  gatherLast: ({ builder, inputs, gradient }) => [() => scatterLast(builder, gradient, inputs)],
  topIds: NOT_DIFFERENTIABLE,

  softmax: unary(({ builder, gradient, output }) => {
    const weighted = builder.multiply(gradient, output);
    const total = builder.reduceSum(weighted, [-1], true);
    return builder.subtract(weighted, builder.multiply(output, total));
  }),
  logSoftmax: unary(({ builder, gradient, output }) => {
    const total = builder.reduceSum(gradient, [-1], true);
    return builder.subtract(gradient, builder.multiply(builder.exp(output), total));
  }),
  tokenLogprob: ({ builder, inputs: [logits, ids], gradient }) => [
    () => tokenLogprobSlope(builder, present(logits, "logits"), present(ids, "ids"), gradient),
  ],
  linearLogprob: ({ builder, inputs, outputs, gradient }) => {
    const [x, weight, ids] = inputs;
    assert(x !== undefined && weight !== undefined && ids !== undefined, "linearLogprob has three operands");
    return [
      () => slopesTimes(builder, outputs, gradient),
      // Computes the logits of all rows at once, not in blocks: training that changes this weight is expected to have
      // enough memory for them.
      () => {
        const scores = builder.matMul(builder.after(x, [gradient]), weight, { transposeB: true });
        return builder.matMul(tokenLogprobSlope(builder, scores, ids, gradient), x, { transposeA: true });
      },
    ];
  },
  int8LinearLogprob: ({ builder, outputs, gradient }) => [() => slopesTimes(builder, outputs, gradient)],
  rmsNorm: ({ builder, inputs, outputs, gradient }) => {
    const [x, weight] = inputs;
    assert(x !== undefined && weight !== undefined, "rmsNorm has two operands");
    const inverse = present(outputs[1], "the inverse root mean square");
    const normalised = builder.multiply(x, inverse);
    return [
      () => {
        const weighted = builder.multiply(gradient, weight);
        const along = builder.reduceMean(builder.multiply(weighted, normalised), [-1], true);
        const across = builder.subtract(weighted, builder.multiply(normalised, along));
        return builder.multiply(across, inverse);
      },
      () => builder.multiply(gradient, normalised),
    ];
  },

  rotary: ({ builder, inputs: [, positions, cos, sin], attributes: { inverse, headSize }, gradient }) => {
    assert(positions !== undefined && cos !== undefined && sin !== undefined, "rotary has four operands");
    const tables = { cos, sin, headSize };
    return [
      () =>
        inverse
          ? builder.rotary(gradient, positions, tables)
          : builder.inverseRotary(gradient, positions, tables),
    ];
  },
  causalAttention: NOT_DIFFERENTIABLE,
  continuedAttention: NOT_DIFFERENTIABLE,
  deltaAttention: NOT_DIFFERENTIABLE,
  gatedAttention: NOT_DIFFERENTIABLE,
  // For M = I + the strictly lower part of a, d(M⁻¹) = −M⁻¹ dM M⁻¹. The rest of a has no gradient, because M does not
  // contain it.
  unitLowerInverse: unary(({ builder, output, gradient }) => {
    const left = builder.matMul(output, gradient, { transposeA: true });
    const slope = builder.matMul(left, output, { transposeB: true, alpha: -1 });
    const size = dimensionAt(output.shape, -1);
    const rows = builder.reshape(builder.iota(size), [size, 1]);
    return builder.where(builder.greater(rows, builder.iota(size)), slope, 0);
  }),
  deltaScan: ({ builder, inputs, gradient }) => {
    const [u, w, q, p, k, decay] = inputs;
    return builder.deltaScanGradient({ u, w, q, p, k, decay }, gradient).map((slope) => () => slope);
  },
  deltaScanGradient: NOT_DIFFERENTIABLE,
  blockedAttention: ({ builder, inputs: [q, k, v], attributes, output, gradient }) => {
    assert(q !== undefined && k !== undefined && v !== undefined, "attention has three operands");
    const operands = { q, k, v, attended: output, gradient };
    return builder.blockedAttentionGradient(operands, attributes).map((slope) => () => slope);
  },
  blockedAttentionGradient: NOT_DIFFERENTIABLE,
};

function unary<K extends OpKind>(
  rule: (operation: Backward<K> & { readonly x: Value }) => Value,
): GradientRule<K> {
  return (operation) => [() => rule({ ...operation, x: present(operation.inputs[0], "an operand") })];
}

function binary<K extends OpKind>(
  rule: (operation: Backward<K> & { readonly a: Value; readonly b: Value }) => Contributions,
): GradientRule<K> {
  return (operation) => {
    const [a, b] = operation.inputs;
    assert(a !== undefined && b !== undefined, "two operands");
    return rule({ ...operation, a, b });
  };
}

/** Passes the gradient to the selected operand. If the operands are equal, each gets half, as in PyTorch. */
function extremum(comparison: "greater" | "less"): GradientRule<"maximum" | "minimum"> {
  return binary(({ builder, a, b, gradient }) => {
    const half = builder.multiply(gradient, 0.5);
    const share = (first: Value, second: Value) =>
      builder.where(
        builder.equal(first, second),
        half,
        builder.where(builder[comparison](first, second), gradient, 0),
      );
    return [() => share(a, b), () => share(b, a)];
  });
}

/**
 * Returns the gradient with respect to x. The operation's third result contains the derivatives of each log-probability
 * with respect to its row of x.
 */
function slopesTimes(builder: GraphBuilder, outputs: readonly Value[], gradient: Value): Value {
  const perRow = builder.reshape(gradient, [...gradient.shape, 1]);
  return builder.multiply(present(outputs[2], "the slopes"), perRow);
}

/** Returns the gradient of log-probabilities [...] with respect to their logits [..., V]. */
function tokenLogprobSlope(builder: GraphBuilder, logits: Value, ids: Value, gradient: Value): Value {
  const column = [...gradient.shape, 1];
  const perRow = builder.reshape(gradient, column);
  const isToken = builder.equal(builder.iota(dimensionAt(logits.shape, -1)), builder.reshape(ids, column));
  const pulled = builder.multiply(builder.softmax(logits), perRow);
  return builder.subtract(builder.where(isToken, perRow, 0), pulled);
}

/** Returns d/dx of 0.5·x·(1 + tanh(u)) with u = √(2/π)·(x + 0.044715·x³). */
function geluSlope(builder: GraphBuilder, x: Value): Value {
  const root = Math.sqrt(2 / Math.PI);
  const square = builder.multiply(x, x);
  const inner = builder.multiply(
    builder.multiply(x, root),
    builder.add(1, builder.multiply(square, 0.044715)),
  );
  const tanh = builder.tanh(inner);
  const innerSlope = builder.multiply(builder.add(1, builder.multiply(square, 3 * 0.044715)), 0.5 * root);
  const tanhSlope = builder.subtract(1, builder.multiply(tanh, tanh));
  const ofTanh = builder.multiply(builder.multiply(x, innerSlope), tanhSlope);
  return builder.add(builder.multiply(builder.add(1, tanh), 0.5), ofTanh);
}

function leftGradient(
  builder: GraphBuilder,
  { transposeA, transposeB, alpha }: OpAttributes["matMul"],
  { b, gradient }: { readonly b: Value; readonly gradient: Value },
): Value {
  return transposeA
    ? builder.matMul(b, gradient, { transposeA: transposeB, transposeB: true, alpha })
    : builder.matMul(gradient, b, { transposeB: !transposeB, alpha });
}

function rightGradient(
  builder: GraphBuilder,
  { transposeA, transposeB, alpha }: OpAttributes["matMul"],
  { a, b, gradient }: { readonly a: Value; readonly b: Value; readonly gradient: Value },
): Value {
  // A matrix shared by a batch needs one product over all rows, instead of a product per batch entry and a sum.
  const isShared = b.shape.length === 2 && a.shape.length > 2 && !transposeA;
  const left = isShared ? flattenRows(builder, a) : a;
  const back = isShared ? flattenRows(builder, gradient) : gradient;
  return transposeB
    ? builder.matMul(back, left, { transposeA: true, transposeB: transposeA, alpha })
    : builder.matMul(left, back, { transposeA: !transposeA, alpha });
}

function flattenRows(builder: GraphBuilder, x: Value): Value {
  const count = dimensionProduct(x.shape.slice(0, -1));
  return builder.reshape(x, [count, dimensionAt(x.shape, -1)]);
}

/** Restores the reduced axes of a reduced tensor, with size 1. */
function restoreAxes(builder: GraphBuilder, reduced: Value, x: Value, axes: readonly number[]): Value {
  return builder.reshape(
    reduced,
    x.shape.map((size, axis) => (axes.includes(axis) ? 1 : size)),
  );
}

/** Reverses `gatherLast`; gradients of equal ids in one row are added. */
function scatterLast(builder: GraphBuilder, gradient: Value, inputs: readonly Value[]): Value {
  const [x, ids] = inputs;
  assert(x !== undefined && ids !== undefined, "gatherLast has two operands");
  const size = dimensionAt(x.shape, -1);
  // Compares [..., M, 1] with [N]: each picked element becomes a row of N numbers, and these rows are then summed over
  // M.
  const column = [...ids.shape, 1];
  const isPicked = builder.equal(builder.iota(size), builder.reshape(ids, column));
  const spread = builder.where(isPicked, builder.reshape(gradient, column), 0);
  return builder.reduceSum(spread, [-2]);
}
