/**
 * Shape rules: compute the result types of each operation, and refuse operands that do not fit.
 *
 * A refusal means a bug in the code that builds the graph, so it is an assertion that names the operation and both
 * shapes. Only types are checked, never data.
 */
import { assert, present } from "../../base/domain/assert.ts";
import { dimensionDifference, dimensionProduct, dimensionSum } from "./dimension.ts";
import type { Dimension, Shape } from "./dimension.ts";
import type { DataType, OpAttributes, OpKind, TensorType } from "./graph.ts";

type Operands = readonly TensorType[];
type ShapeRule<K extends OpKind> = (operands: Operands, attributes: OpAttributes[K]) => readonly TensorType[];

/** Shape rule of each operation kind: maps operand types and attributes to result types. */
export const shapeRules: { readonly [K in OpKind]: ShapeRule<K> } = {
  input: (_, { dtype, shape }) => [{ dtype, shape }],
  parameter: (_, { dtype, shape }) => [{ dtype, shape }],
  constant: (_, { dtype, shape, values }) => {
    const size = dimensionProduct(shape);
    assert(size === values.length, `constant: ${values.length} values for ${formatShape(shape)}`);
    return [{ dtype, shape }];
  },
  iota: (_, { length }) => [{ dtype: "int64", shape: [length] }],

  negate: unaryFloat("negate"),
  exp: unaryFloat("exp"),
  log: unaryFloat("log"),
  sqrt: unaryFloat("sqrt"),
  tanh: unaryFloat("tanh"),
  sigmoid: unaryFloat("sigmoid"),
  silu: unaryFloat("silu"),
  geluTanh: unaryFloat("geluTanh"),
  not: ([x]) => [requireType("not", x, "bool")],
  cast: ([x], { dtype }) => [{ dtype, shape: present(x, "an operand").shape }],
  clip: (operands, { minimum, maximum }) => {
    assert(minimum <= maximum, `clip: minimum ${minimum} is above maximum ${maximum}`);
    return unaryFloat("clip")(operands);
  },
  stopGradient: ([x]) => [present(x, "an operand")],

  add: arithmetic("add"),
  subtract: arithmetic("subtract"),
  multiply: arithmetic("multiply"),
  divide: arithmetic("divide"),
  maximum: arithmetic("maximum"),
  minimum: arithmetic("minimum"),
  less: comparison("less"),
  lessOrEqual: comparison("lessOrEqual"),
  greater: comparison("greater"),
  greaterOrEqual: comparison("greaterOrEqual"),
  equal: comparison("equal"),
  and: logical("and"),
  or: logical("or"),
  where: ([condition, then, otherwise]) => {
    requireType("where", condition, "bool");
    const dtype = sameType("where", present(then, "an operand"), present(otherwise, "an operand"));
    const branches = broadcastShapes(
      "where",
      present(then, "an operand").shape,
      present(otherwise, "an operand").shape,
    );
    return [{ dtype, shape: broadcastShapes("where", present(condition, "an operand").shape, branches) }];
  },

  after: ([x, ...signals]) => {
    assert(signals.length > 0, "after: there is no signal to wait for");
    return [present(x, "an operand")];
  },
  kept: ([x]) => [present(x, "an operand")],
  recomputed: ([result]) => [present(result, "a result")],

  reshape: ([x], { shape }) => {
    const from = present(x, "an operand");
    assert(
      dimensionProduct(from.shape) === dimensionProduct(shape),
      `reshape: ${formatShape(from.shape)} does not have the size of ${formatShape(shape)}`,
    );
    return [{ dtype: from.dtype, shape }];
  },
  transpose: ([x], { permutation }) => {
    const { dtype, shape } = present(x, "an operand");
    const isPermutation =
      permutation.length === shape.length && shape.every((_, axis) => permutation.includes(axis));
    assert(isPermutation, `transpose: [${permutation.join(", ")}] does not permute ${formatShape(shape)}`);
    return [{ dtype, shape: permutation.map((axis) => dimensionAt(shape, axis)) }];
  },
  concat: (operands, { axis }) => {
    const first = present(operands[0], "an operand");
    requireAxis("concat", first.shape, axis);
    for (const operand of operands) {
      sameType("concat", first, operand);
      const fits =
        operand.shape.length === first.shape.length &&
        operand.shape.every((size, other) => other === axis || size === first.shape[other]);
      assert(
        fits,
        `concat: ${formatShape(operand.shape)} does not join ${formatShape(first.shape)} along axis ${axis}`,
      );
    }
    const joined = dimensionSum(operands.map(({ shape }) => dimensionAt(shape, axis)));
    return [{ dtype: first.dtype, shape: replaceAt(first.shape, axis, joined) }];
  },
  slice: ([x], { axis, start, end }) => {
    const { dtype, shape } = present(x, "an operand");
    requireAxis("slice", shape, axis);
    const size = dimensionAt(shape, axis);
    const taken = dimensionDifference(end, start);
    const isInside =
      (typeof start !== "number" || start >= 0) &&
      (typeof taken !== "number" || taken >= 0) &&
      (typeof end !== "number" || typeof size !== "number" || end <= size);
    assert(isInside, `slice: ${start}..${end} is outside axis ${axis} of ${formatShape(shape)}`);
    return [{ dtype, shape: replaceAt(shape, axis, taken) }];
  },
  expand: ([x], { shape }) => {
    const from = present(x, "an operand");
    const result = broadcastShapes("expand", from.shape, shape);
    assert(
      sameShape(result, shape),
      `expand: ${formatShape(from.shape)} does not expand to ${formatShape(shape)}`,
    );
    return [{ dtype: from.dtype, shape }];
  },

  reduceSum: reduction("reduceSum"),
  reduceMean: reduction("reduceMean"),
  reduceMax: reduction("reduceMax"),

  matMul: ([a, b], { transposeA, transposeB }) => {
    const left = requireType("matMul", a, "float32");
    const right = requireType("matMul", b, "float32");
    const shapes = `${formatShape(left.shape)}${transposeA ? "ᵀ" : ""} by ${formatShape(right.shape)}${transposeB ? "ᵀ" : ""}`;
    assert(left.shape.length >= 2 && right.shape.length >= 2, `matMul: ${shapes} needs matrices`);
    const [rows, inner] = lastTwo(left.shape, transposeA);
    const [innerRight, columns] = lastTwo(right.shape, transposeB);
    assert(inner === innerRight, `matMul: inner sizes of ${shapes} differ`);
    const batch = broadcastShapes("matMul", left.shape.slice(0, -2), right.shape.slice(0, -2));
    return [{ dtype: "float32", shape: [...batch, rows, columns] }];
  },

  gemm: ([a, b, c]) => {
    const [left, right, sum] = [a, b, c].map((value) => requireType("gemm", value, "float32").shape);
    const [rows = 0, inner = 0] = left;
    const [columns = 0] = right;
    assert(
      left.length === 2 && sameShape(right, [columns, inner]) && sameShape(sum, [rows, columns]),
      `gemm: ${formatShape(left)} by ${formatShape(right)}ᵀ does not add to ${formatShape(sum)}`,
    );
    return [{ dtype: "float32", shape: sum }];
  },

  int8MatMul: ([x, weight, scales]) => [int8Product("int8MatMul", x, weight, scales)],
  int8BackMatMul: ([x, weight, scales]) => {
    const { dtype, shape } = requireType("int8BackMatMul", x, "float32");
    const weightShape = requireCodes("int8BackMatMul", weight).shape;
    const scaleShape = requireType("int8BackMatMul", scales, "float32").shape;
    const [rows = 0, inner = 0] = shape;
    const [columns = 0] = weightShape;
    assert(
      shape.length === 2 && sameShape(weightShape, [columns, inner]) && sameShape(scaleShape, [inner]),
      `int8BackMatMul: ${formatShape(shape)} by ${formatShape(weightShape)}ᵀ with scales ${formatShape(scaleShape)}`,
    );
    return [{ dtype, shape: [rows, columns] }];
  },
  int4MatMul: ([x, codes, scales]) => {
    const { shape } = requireType("int4MatMul", x, "float32");
    const codeShape = requireType("int4MatMul", codes, "uint8").shape;
    const scaleShape = requireType("int4MatMul", scales, "float32").shape;
    const [columns = 0, blocks = 0] = codeShape;
    const fits =
      shape.length >= 2 &&
      sameShape(codeShape, [columns, blocks, 16]) &&
      sameShape(scaleShape, [columns, blocks]) &&
      shape.at(-1) === dimensionProduct([blocks, 32]);
    assert(
      fits,
      `int4MatMul: ${formatShape(shape)} by ${formatShape(codeShape)} with scales ${formatShape(scaleShape)}`,
    );
    return [{ dtype: "float32", shape: replaceAt(shape, shape.length - 1, columns) }];
  },

  expertMatMul: ([x, experts, weight, scales], { isTransposed }) => {
    const name = "expertMatMul";
    const { shape } = requireType(name, x, "float32");
    const idShape = requireType(name, experts, "int64").shape;
    const isFloat = weight?.dtype === "float32";
    const weightShape = (isFloat ? requireType(name, weight, "float32") : requireCodes(name, weight)).shape;
    const scaleShape = isFloat ? [] : requireType(name, scales, "float32").shape;
    const [count, second, third] = [0, 1, 2].map((axis) => dimensionAt(weightShape, axis));
    const [N, K] = isFloat ? [second, third] : [third, second];
    const [inner, outer] = isTransposed ? [N, K] : [K, N];
    const fits =
      idShape.length === 1 &&
      sameShape(shape, [...idShape, inner]) &&
      sameShape(scaleShape, isFloat ? [] : [count, N]);
    assert(
      fits,
      `${name}: ${formatShape(shape)} by ${formatShape(weightShape)} with scales ${formatShape(scaleShape)}`,
    );
    return [{ dtype: "float32", shape: [...idShape, outer] }];
  },

  gatherRows: ([table, ids]) => {
    const { dtype, shape } = present(table, "an operand");
    assert(shape.length >= 1, "gatherRows: the table has no rows");
    return [{ dtype, shape: [...requireType("gatherRows", ids, "int64").shape, ...shape.slice(1)] }];
  },
  gatherColumns: ([table, ids]) => {
    const { dtype, shape } = present(table, "an operand");
    assert(shape.length === 2, "gatherColumns: the table is a matrix");
    return [{ dtype, shape: [...requireType("gatherColumns", ids, "int64").shape, ...shape.slice(0, 1)] }];
  },
  moveRows: ([table, ids, places]) => {
    const { dtype, shape } = requireType("moveRows", table, "float32");
    const placeShape = requireType("moveRows", places, "int64").shape;
    assert(
      sameShape(placeShape, shape.slice(0, 1)),
      `moveRows: places ${formatShape(placeShape)} for the rows of ${formatShape(shape)}`,
    );
    return [{ dtype, shape: [...requireType("moveRows", ids, "int64").shape, ...shape.slice(1)] }];
  },
  placeRows: ([table, rows, ids]) => {
    const { dtype, shape } = present(table, "a table");
    const rowShape = requireType("placeRows", rows, dtype).shape;
    const idShape = requireType("placeRows", ids, "int64").shape;
    assert(
      idShape.length === 1 && sameShape(rowShape, [...idShape, ...shape.slice(1)]),
      `placeRows: ${formatShape(rowShape)} at ids ${formatShape(idShape)} of ${formatShape(shape)}`,
    );
    return [{ dtype, shape }];
  },
  scatterAddRows: ([updates, ids], { rows }) => {
    const { shape } = requireType("scatterAddRows", updates, "float32");
    const idShape = requireType("scatterAddRows", ids, "int64").shape;
    assert(
      shape.length === 2 && sameShape(idShape, shape.slice(0, 1)),
      `scatterAddRows: ids ${formatShape(idShape)} do not lead updates ${formatShape(shape)}`,
    );
    return [{ dtype: "float32", shape: [rows, dimensionAt(shape, 1)] }];
  },
  gatherLast: ([x, ids]) => {
    const { dtype, shape } = present(x, "an operand");
    const idShape = requireType("gatherLast", ids, "int64").shape;
    assert(
      sameShape(shape.slice(0, -1), idShape.slice(0, -1)) && idShape.length === shape.length,
      `gatherLast: ids ${formatShape(idShape)} do not follow ${formatShape(shape)}`,
    );
    return [{ dtype, shape: idShape }];
  },

  topIds: ([x], { count }) => {
    const { shape } = requireType("topIds", x, "float32");
    const size = dimensionAt(shape, -1);
    assert(typeof size === "number" && count <= size, `topIds: ${count} of ${formatShape(shape)}`);
    return [{ dtype: "int64", shape: replaceAt(shape, shape.length - 1, count) }];
  },

  softmax: unaryFloat("softmax"),
  logSoftmax: unaryFloat("logSoftmax"),
  tokenLogprob: ([logits, ids]) => {
    const { shape } = requireType("tokenLogprob", logits, "float32");
    const idShape = requireType("tokenLogprob", ids, "int64").shape;
    assert(
      sameShape(shape.slice(0, -1), idShape),
      `tokenLogprob: ids ${formatShape(idShape)} do not follow logits ${formatShape(shape)}`,
    );
    return [{ dtype: "float32", shape: idShape }];
  },
  linearLogprob: ([x, weight, ids]) => {
    const { dtype, shape } = requireType("linearLogprob", x, "float32");
    const weightShape = requireType("linearLogprob", weight, "float32").shape;
    const idShape = requireType("linearLogprob", ids, "int64").shape;
    const fits =
      shape.length === 2 &&
      weightShape.length === 2 &&
      weightShape[1] === shape[1] &&
      sameShape(idShape, shape.slice(0, 1));
    assert(
      fits,
      `linearLogprob: ${formatShape(shape)} by ${formatShape(weightShape)} with ids ${formatShape(idShape)}`,
    );
    return [
      { dtype, shape: idShape },
      { dtype, shape: idShape },
      { dtype, shape },
    ];
  },
  int8LinearLogprob: ([x, codes, scales, ids]) => {
    const name = "int8LinearLogprob";
    const { dtype, shape } = requireType(name, x, "float32");
    const scores = int8Product(name, x, codes, scales);
    const idShape = requireType(name, ids, "int64").shape;
    assert(
      shape.length === 2 && sameShape(idShape, shape.slice(0, 1)),
      `${name}: scores ${formatShape(scores.shape)} with ids ${formatShape(idShape)}`,
    );
    return [
      { dtype, shape: idShape },
      { dtype, shape: idShape },
      { dtype, shape },
    ];
  },
  rmsNorm: ([x, weight]) => {
    const { dtype, shape } = requireType("rmsNorm", x, "float32");
    const weightShape = requireType("rmsNorm", weight, "float32").shape;
    assert(
      sameShape(weightShape, shape.slice(-1)),
      `rmsNorm: weight ${formatShape(weightShape)} does not fit ${formatShape(shape)}`,
    );
    return [
      { dtype, shape },
      { dtype, shape: replaceAt(shape, shape.length - 1, 1) },
    ];
  },

  rotary: ([x, positions, cos, sin], { headSize }) => {
    const { dtype, shape } = requireType("rotary", x, "float32");
    const positionShape = requireType("rotary", positions, "int64").shape;
    const cosShape = requireType("rotary", cos, "float32").shape;
    const sinShape = requireType("rotary", sin, "float32").shape;
    const width = shape[2];
    const half = cosShape[1];
    const fits =
      shape.length === 3 &&
      sameShape(positionShape, shape.slice(0, 2)) &&
      cosShape.length === 2 &&
      sameShape(cosShape, sinShape) &&
      typeof width === "number" &&
      typeof half === "number" &&
      width % headSize === 0 &&
      2 * half <= headSize;
    assert(
      fits,
      `rotary: ${formatShape(shape)} in heads of ${headSize} with positions ${formatShape(positionShape)}, cos ${formatShape(cosShape)}, sin ${formatShape(sinShape)}`,
    );
    return [{ dtype, shape }];
  },
  causalAttention: ([q, k, v, sinks], { queryHeads, kvHeads }) => {
    requireSinks("causalAttention", sinks, queryHeads);
    const { query, headSize } = requireHeads("causalAttention", [q, k, v], { queryHeads, kvHeads });
    const [batch = 0, length = 0] = query.shape;
    const cache: TensorType = { dtype: "float32", shape: [batch, kvHeads, length, headSize] };
    return [query, cache, cache];
  },
  continuedAttention: ([q, k, v, pastKeys, pastValues, pastLength, sinks], { queryHeads, kvHeads }) => {
    requireSinks("continuedAttention", sinks, queryHeads);
    const { query, headSize } = requireHeads("continuedAttention", [q, k, v], { queryHeads, kvHeads });
    const keys = requireType("continuedAttention", pastKeys, "float32").shape;
    const values = requireType("continuedAttention", pastValues, "float32").shape;
    const length = requireType("continuedAttention", pastLength, "int64").shape;
    const fits =
      query.shape[0] === 1 &&
      sameShape(keys, [1, kvHeads, keys[2] ?? 0, headSize]) &&
      sameShape(values, keys) &&
      sameShape(length, [1]);
    assert(
      fits,
      `continuedAttention: ${formatShape(query.shape)} after ${formatShape(keys)}, ${formatShape(values)}, ${formatShape(length)}`,
    );
    return [query];
  },
  deltaAttention: ([q, k, v, state, logDecay, strength], { heads }) => {
    const [batch = 0, length = 0, width] = requireType("deltaAttention", q, "float32").shape;
    const keys = requireType("deltaAttention", k, "float32").shape;
    const values = requireType("deltaAttention", v, "float32");
    const sizes = requireType("deltaAttention", state, "float32");
    const [keySize, valueSize] = [Number(width) / heads, Number(values.shape[2]) / heads];
    const fits =
      sameShape(keys, [batch, length, heads * keySize]) &&
      sameShape(values.shape, [batch, length, heads * valueSize]) &&
      sameShape(sizes.shape, [batch, heads, keySize, valueSize]) &&
      [logDecay, strength].every((x) =>
        sameShape(requireType("deltaAttention", x, "float32").shape, [batch, length, heads]),
      );
    assert(
      fits,
      `deltaAttention: ${formatShape(keys)} and ${formatShape(values.shape)} after ${formatShape(sizes.shape)}`,
    );
    return [values, sizes];
  },
  gatedAttention: ([q, k, v, state, logDecay], { keyHeads, heads }) => {
    const [batch = 0, length = 0, width] = requireType("gatedAttention", q, "float32").shape;
    const values = requireType("gatedAttention", v, "float32");
    const sizes = requireType("gatedAttention", state, "float32");
    const [keySize, valueSize] = [Number(width) / keyHeads, Number(values.shape[2]) / heads];
    const fits =
      heads % keyHeads === 0 &&
      sameShape(requireType("gatedAttention", k, "float32").shape, [batch, length, keyHeads * keySize]) &&
      sameShape(values.shape, [batch, length, heads * valueSize]) &&
      sameShape(sizes.shape, [batch, heads, keySize, valueSize]) &&
      sameShape(requireType("gatedAttention", logDecay, "float32").shape, [batch, length, heads]);
    assert(fits, `gatedAttention: ${formatShape(values.shape)} after ${formatShape(sizes.shape)}`);
    return [values, sizes];
  },
  unitLowerInverse: ([a]) => {
    const type = requireType("unitLowerInverse", a, "float32");
    const [rows, columns] = type.shape.slice(-2);
    const isPower = typeof rows === "number" && Number.isInteger(Math.log2(rows));
    assert(isPower && rows === columns, `unitLowerInverse: ${formatShape(type.shape)}`);
    return [type];
  },
  deltaScan: (operands) => [requireDeltaChunks("deltaScan", operands)],
  deltaScanGradient: ([u, w, q, p, k, decay, gradient]) => {
    const operands = [u, w, q, p, k, decay].map((x) => present(x, "an operand"));
    const result = requireDeltaChunks("deltaScanGradient", operands);
    const { shape } = requireType("deltaScanGradient", gradient, "float32");
    assert(
      sameShape(shape, result.shape),
      `deltaScanGradient: ${formatShape(shape)} is not the result's shape`,
    );
    return operands.map(({ dtype, shape: own }) => ({ dtype, shape: own }));
  },
  blockedAttention: (operands, heads) => [requireHeads("blockedAttention", operands, heads).query],
  blockedAttentionGradient: ([q, k, v, attended, gradient], heads) => {
    const { query } = requireHeads("blockedAttentionGradient", [q, k, v], heads);
    for (const like of [attended, gradient]) {
      const { shape } = requireType("blockedAttentionGradient", like, "float32");
      assert(
        sameShape(shape, query.shape),
        `blockedAttentionGradient: ${formatShape(shape)} is not that of q`,
      );
    }
    return [query, present(k, "keys"), present(v, "values")].map(({ dtype, shape }) => ({ dtype, shape }));
  },
};

/** Checks the chunks of a delta rule, and returns the type of the result. */
function requireDeltaChunks(operation: string, operands: Operands): TensorType {
  const [u, w, q, p, k, decay] = operands.map((x) => requireType(operation, x, "float32"));
  const outer = u.shape.slice(0, 3);
  const [size, keySize] = [dimensionAt(u.shape, 3), dimensionAt(w.shape, 4)];
  const fits =
    [w, q, k].every(({ shape }) => sameShape(shape, [...outer, size, keySize])) &&
    sameShape(p.shape, [...outer, size, size]) &&
    sameShape(decay.shape, [...outer, 1, 1]);
  assert(fits, `${operation}: ${operands.map(({ shape }) => formatShape(shape)).join(", ")}`);
  return u;
}

/** Checks queries [B, T, Hq*K] with keys and values [B, T, Hkv*K]. */
function requireHeads(
  operation: string,
  operands: readonly (TensorType | undefined)[],
  { queryHeads, kvHeads }: { readonly queryHeads: number; readonly kvHeads: number },
): { readonly query: TensorType; readonly headSize: number } {
  const [query, key, value] = [0, 1, 2].map((index) => requireType(operation, operands[index], "float32"));
  const [batch = 0, length = 0, width] = query.shape;
  const headSize = typeof width === "number" ? width / queryHeads : Number.NaN;
  const fits =
    query.shape.length === 3 &&
    Number.isInteger(headSize) &&
    queryHeads % kvHeads === 0 &&
    sameShape(key.shape, [batch, length, kvHeads * headSize]) &&
    sameShape(value.shape, key.shape);
  assert(
    fits,
    `${operation}: ${queryHeads} and ${kvHeads} heads of ${formatShape(query.shape)}, ${formatShape(key.shape)}, ${formatShape(value.shape)}`,
  );
  return { query, headSize };
}

function requireSinks(operation: string, sinks: TensorType | undefined, queryHeads: number): void {
  if (sinks === undefined) return;
  const { shape } = requireType(operation, sinks, "float32");
  assert(sameShape(shape, [queryHeads]), `${operation}: sinks ${formatShape(shape)} of ${queryHeads} heads`);
}

/** Broadcasts two shapes as NumPy does: aligned at the last axis, sizes must be equal or 1. */
function broadcastShapes(operation: string, left: Shape, right: Shape): Shape {
  const rank = Math.max(left.length, right.length);
  return Array.from({ length: rank }, (_, axis) => {
    const leftSize = left[axis - rank + left.length] ?? 1;
    const rightSize = right[axis - rank + right.length] ?? 1;
    if (leftSize === rightSize || rightSize === 1) return leftSize;
    assert(leftSize === 1, `${operation}: ${formatShape(left)} and ${formatShape(right)} do not broadcast`);
    return rightSize;
  });
}

/** True if two shapes are the same, including symbols. */
export function sameShape(left: Shape, right: Shape): boolean {
  return left.length === right.length && left.every((size, axis) => size === right[axis]);
}

/** Formats a shape as `[B, T, 64]`. */
export function formatShape(shape: Shape): string {
  return `[${shape.join(", ")}]`;
}

/** Returns the size of an axis; asserts that it exists. */
export function dimensionAt(shape: Shape, axis: number): Dimension {
  const size = shape.at(axis);
  assert(size !== undefined, `${formatShape(shape)} has no axis ${axis}`);
  return size;
}

/** Returns a copy of the shape with one axis changed. */
export function replaceAt(shape: Shape, axis: number, size: Dimension): Shape {
  return shape.map((old, other) => (other === axis ? size : old));
}

/** Checks a product of x [..., K] with 8-bit weight codes [K, N] and column scales [N]. */
function int8Product(
  operation: string,
  ...[x, weight, scales]: readonly (TensorType | undefined)[]
): TensorType {
  const { shape } = requireType(operation, x, "float32");
  const weightShape = requireCodes(operation, weight).shape;
  const scaleShape = requireType(operation, scales, "float32").shape;
  const fits =
    shape.length >= 2 &&
    weightShape.length === 2 &&
    shape.at(-1) === weightShape[0] &&
    sameShape(scaleShape, weightShape.slice(1));
  assert(
    fits,
    `${operation}: ${formatShape(shape)} by ${formatShape(weightShape)} with scales ${formatShape(scaleShape)}`,
  );
  return { dtype: "float32", shape: replaceAt(shape, shape.length - 1, dimensionAt(weightShape, 1)) };
}

/** Requires 8-bit codes: int8, or uint8 with a zero point of 128. */
function requireCodes(operation: string, operand: TensorType | undefined): TensorType {
  return requireType(operation, operand, operand?.dtype === "uint8" ? "uint8" : "int8");
}

function requireType(operation: string, operand: TensorType | undefined, dtype: DataType): TensorType {
  const { dtype: actual, shape } = present(operand, "an operand");
  assert(actual === dtype, `${operation}: ${dtype} expected, got ${actual} ${formatShape(shape)}`);
  return { dtype, shape };
}

function requireAxis(operation: string, shape: Shape, axis: number): void {
  const isAxis = Number.isInteger(axis) && axis >= 0 && axis < shape.length;
  assert(isAxis, `${operation}: ${formatShape(shape)} has no axis ${axis}`);
}

function sameType(operation: string, left: TensorType, right: TensorType): DataType {
  assert(left.dtype === right.dtype, `${operation}: ${left.dtype} with ${right.dtype}`);
  return left.dtype;
}

function unaryFloat(operation: string): (operands: Operands) => readonly TensorType[] {
  return ([x]) => [requireType(operation, x, "float32")];
}

function arithmetic(operation: string): (operands: Operands) => readonly TensorType[] {
  return ([a, b]) => {
    const dtype = sameType(operation, present(a, "an operand"), present(b, "an operand"));
    assert(dtype !== "bool", `${operation}: numbers expected, got bool`);
    return [
      {
        dtype,
        shape: broadcastShapes(operation, present(a, "an operand").shape, present(b, "an operand").shape),
      },
    ];
  };
}

function comparison(operation: string): (operands: Operands) => readonly TensorType[] {
  return (operands) => [{ dtype: "bool", shape: arithmetic(operation)(operands)[0]?.shape ?? [] }];
}

function logical(operation: string): (operands: Operands) => readonly TensorType[] {
  return ([a, b]) => {
    const left = requireType(operation, a, "bool");
    const right = requireType(operation, b, "bool");
    return [{ dtype: "bool", shape: broadcastShapes(operation, left.shape, right.shape) }];
  };
}

function reduction(
  operation: string,
): (
  operands: Operands,
  attributes: { readonly axes: readonly number[]; readonly keepDimensions: boolean },
) => readonly TensorType[] {
  return ([x], { axes, keepDimensions }) => {
    const { dtype, shape } = requireType(operation, x, "float32");
    for (const axis of axes) requireAxis(operation, shape, axis);
    const kept = shape.map((size, axis) => (axes.includes(axis) ? 1 : size));
    const left = keepDimensions ? kept : kept.filter((_, axis) => !axes.includes(axis));
    return [{ dtype, shape: left }];
  };
}

function lastTwo(shape: Shape, isTransposed: boolean): readonly [Dimension, Dimension] {
  const rows = dimensionAt(shape, -2);
  const columns = dimensionAt(shape, -1);
  return isTransposed ? [columns, rows] : [rows, columns];
}
