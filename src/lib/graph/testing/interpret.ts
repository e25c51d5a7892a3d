/**
 * The slow reference interpreter: computes each operation by definition, with one rule per kind, in float64.
 *
 * Lowering and gradients are checked against it.
 */
import { assert, present } from "../../../base/domain/assert.ts";
import {
  coordinatesOf,
  denseFrom,
  elementAt,
  mapDense,
  mapRows,
  matrixAt,
  positionOf,
  reduceDense,
  withEntry,
} from "./dense.ts";
import type { Dense } from "./dense.ts";
import { deltaScan, deltaScanGradient, gatedAttention, unitLowerInverse } from "./interpret-delta.ts";
import { expertProducts } from "./interpret-experts.ts";
import { elementCount } from "../tensor.ts";
import { evaluateDimension, isSymbol } from "../dimension.ts";
import type { Dimension } from "../dimension.ts";
import type { Graph, OpAttributes, OpKind, TensorType } from "../graph.ts";

interface Scope {
  readonly feed: (name: string) => Dense;
  readonly size: (dimension: Dimension) => number;
}

type Meaning<K extends OpKind> = (
  operands: readonly Dense[],
  attributes: OpAttributes[K],
  scope: Scope,
  types: readonly TensorType[],
) => readonly Dense[];

/**
 * Computes a graph's outputs.
 *
 * @param feeds the data of each used input and parameter, by name
 */
export function interpret(
  graph: Graph,
  feeds: Readonly<Record<string, Dense>>,
): Readonly<Record<string, Dense>> {
  const feed = (name: string) => present(feeds[name], `data of ${name}`);
  const sizes = new Map<string, number>();
  for (const { name, value } of graph.inputs) {
    for (const [axis, size] of value.shape.entries()) {
      if (isSymbol(size)) sizes.set(size, present(feed(name).dims[axis], "a size"));
    }
  }
  const scope = { feed, size: (dimension: Dimension) => evaluateDimension(dimension, sizes) };
  const values = new Map<number, Dense>();
  const valueOf = (id: number) => present(values.get(id), `value ${id}`);
  for (const node of graph.nodes) {
    // Safe cast: the compiler cannot see that the meaning belongs to the node's kind.
    const meaning = meanings[node.kind] as Meaning<OpKind>;
    const operands = node.inputs.map(({ id }) => valueOf(id));
    for (const [index, result] of meaning(operands, node.attributes, scope, node.inputs).entries()) {
      values.set(present(node.outputs[index], "a result").id, result);
    }
  }
  return Object.fromEntries(graph.outputs.map(({ name, value }) => [name, valueOf(value.id)]));
}

const meanings: { readonly [K in OpKind]: Meaning<K> } = {
  input: (_, { name }, { feed }) => [feed(name)],
  parameter: (_, { name }, { feed }) => [feed(name)],
  constant: (_, { shape, values }, { size }) => [{ dims: shape.map(size), data: Float64Array.from(values) }],
  iota: (_, { length }, { size }) => [denseFrom([size(length)], ([index]) => index ?? 0)],

  negate: elementwise((x) => -x),
  exp: elementwise(Math.exp),
  log: elementwise(Math.log),
  sqrt: elementwise(Math.sqrt),
  tanh: elementwise(Math.tanh),
  sigmoid: elementwise(sigmoid),
  silu: elementwise((x) => x * sigmoid(x)),
  geluTanh: elementwise((x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)))),
  not: elementwise((x) => 1 - x),
  cast: ([x], { dtype }) => {
    const convert = {
      float32: Number,
      int64: Math.trunc,
      int32: Math.trunc,
      int8: Math.trunc,
      uint8: Math.trunc,
      bool: (element: number) => (element === 0 ? 0 : 1),
    }[dtype];
    return [mapDense([operand(x)], convert)];
  },
  clip: ([x], { minimum, maximum }) => [
    mapDense([operand(x)], (element) => Math.min(Math.max(element, minimum), maximum)),
  ],
  stopGradient: elementwise((x) => x),

  add: elementwise((a, b) => a + b),
  subtract: elementwise((a, b) => a - b),
  multiply: elementwise((a, b) => a * b),
  divide: elementwise((a, b) => a / b),
  maximum: elementwise(Math.max),
  minimum: elementwise(Math.min),
  less: elementwise((a, b) => Number(a < b)),
  lessOrEqual: elementwise((a, b) => Number(a <= b)),
  greater: elementwise((a, b) => Number(a > b)),
  greaterOrEqual: elementwise((a, b) => Number(a >= b)),
  equal: elementwise((a, b) => Number(a === b)),
  and: elementwise((a, b) => a * b),
  or: elementwise((a, b) => Math.max(a, b)),
  where: elementwise((condition, then, otherwise) => (condition === 0 ? otherwise : then)),

  after: ([x]) => [operand(x)],
  kept: ([x]) => [operand(x)],
  recomputed: ([result]) => [operand(result)],

  reshape: ([x], { shape }, { size }) => [{ dims: shape.map(size), data: operand(x).data }],
  transpose: ([x], { permutation }) => {
    const from = operand(x);
    const dims = permutation.map((axis) => from.dims[axis] ?? 1);
    const source = (at: readonly number[]) =>
      permutation.map((_, axis) => at[permutation.indexOf(axis)] ?? 0);
    return [denseFrom(dims, (at) => elementAt(from, source(at)))];
  },
  concat: (operands, { axis }) => {
    const sizes = operands.map(({ dims }) => dims[axis] ?? 0);
    const total = sizes.reduce((sum, size) => sum + size, 0);
    const pick = (at: readonly number[]) => {
      let index = at[axis] ?? 0;
      let part = 0;
      for (; index >= (sizes[part] ?? Infinity); part++) index -= sizes[part] ?? 0;
      return elementAt(operand(operands[part]), withEntry(at, axis, index));
    };
    return [denseFrom(withEntry(operand(operands[0]).dims, axis, total), pick)];
  },
  slice: ([x], { axis, start, end }, { size }) => {
    const from = operand(x);
    const first = size(start);
    const dims = withEntry(from.dims, axis, size(end) - first);
    return [denseFrom(dims, (at) => elementAt(from, withEntry(at, axis, (at[axis] ?? 0) + first)))];
  },
  expand: ([x], { shape }, { size }) => [denseFrom(shape.map(size), (at) => elementAt(operand(x), at))],

  reduceSum: ([x], attributes) => [reduceDense(operand(x), attributes, sum)],
  reduceMean: ([x], attributes) => [
    reduceDense(operand(x), attributes, (elements) => sum(elements) / elements.length),
  ],
  reduceMax: ([x], attributes) => [reduceDense(operand(x), attributes, (elements) => Math.max(...elements))],

  matMul: ([a, b], { transposeA, transposeB, alpha }) => {
    const left = operand(a);
    const right = operand(b);
    const rows = left.dims.at(transposeA ? -1 : -2) ?? 1;
    const inner = left.dims.at(transposeA ? -2 : -1) ?? 1;
    const columns = right.dims.at(transposeB ? -2 : -1) ?? 1;
    const batch = mapDense([batchOf(left), batchOf(right)], () => 0).dims;
    assert(inner === right.dims.at(transposeB ? -1 : -2), "the matrices have the same inner size");
    // Distances in the data between neighbours in a row and in a column of each matrix. Reading the elements through
    // functions would take most of the time.
    const [leftRow, leftK] = transposeA ? [1, rows] : [inner, 1];
    const [rightK, rightColumn] = transposeB ? [1, inner] : [columns, 1];
    const products = new Float64Array(elementCount(batch) * rows * columns);
    for (let matrix = 0, place = 0; matrix < elementCount(batch); matrix++) {
      const outer = coordinatesOf(batch, matrix);
      const leftStart = rows * inner * positionOf(left.dims.slice(0, -2), outer);
      const rightStart = inner * columns * positionOf(right.dims.slice(0, -2), outer);
      for (let row = 0; row < rows; row++)
        for (let column = 0; column < columns; column++) {
          let total = 0;
          for (let k = 0; k < inner; k++)
            total +=
              left.data[leftStart + row * leftRow + k * leftK] *
              right.data[rightStart + k * rightK + column * rightColumn];
          products[place++] = alpha * total;
        }
    }
    return [{ dims: [...batch, rows, columns], data: products }];
  },

  gemm: ([a, b, c], { alpha }) => {
    const [left, right] = [operand(a), operand(b)];
    const inner = left.dims[1] ?? 0;
    const productAt = ([row = 0, column = 0]: readonly number[]): number =>
      sum(Array.from({ length: inner }, (_, k) => elementAt(left, [row, k]) * elementAt(right, [column, k])));
    const { dims } = operand(c);
    return [denseFrom(dims, (at) => elementAt(operand(c), at) + alpha * productAt(at))];
  },

  int8MatMul: ([x, weight, scales], _attributes, _scope, types) => {
    const from = operand(x);
    const rows = mapRows(from, (row) => inSteps(row, row.length));
    const [inner = 0, columns = 0] = operand(weight).dims;
    const weightAt = matrixAt(signedCodes(operand(weight), types[1]), []);
    const multiply = (row: Float64Array) =>
      Float64Array.from({ length: columns }, (_, column) => {
        const products = Array.from({ length: inner }, (_, k) => (row[k] ?? 0) * weightAt(k, column));
        return sum(products) * elementAt(operand(scales), [column]);
      });
    return [mapRows(rows, multiply)];
  },
  int8BackMatMul: ([x, weight, scales], _attributes, _scope, types) => {
    const { dims } = operand(weight);
    const weightAt = matrixAt(signedCodes(operand(weight), types[1]), []);
    return [
      mapRows(operand(x), (row) => {
        const scaled = Float64Array.from(row, (value, n) => value * elementAt(operand(scales), [n]));
        const rounded = inSteps(scaled, scaled.length);
        return Float64Array.from({ length: dims[0] ?? 0 }, (_, k) =>
          sum(Array.from(rounded, (value, n) => value * weightAt(k, n))),
        );
      }),
    ];
  },
  int4MatMul: ([x, codes, scales]) => {
    const rows = mapRows(operand(x), (row) => inSteps(row, 32));
    const [columns = 0, blocks = 0] = operand(scales).dims;
    const weightAt = (column: number, k: number) => {
      const [block, within] = [Math.floor(k / 32), k % 32];
      const pair = elementAt(operand(codes), [column, block, Math.floor(within / 2)]);
      const code = within % 2 === 0 ? pair % 16 : Math.floor(pair / 16);
      return (code - 8) * elementAt(operand(scales), [column, block]);
    };
    const multiply = (row: Float64Array) =>
      Float64Array.from({ length: columns }, (_, column) =>
        sum(Array.from({ length: 32 * blocks }, (_, k) => (row[k] ?? 0) * weightAt(column, k))),
      );
    return [mapRows(rows, multiply)];
  },

  expertMatMul: (operands, { isTransposed }, _, types) => {
    const { dtype } = types[2];
    return [expertProducts(operands, { dtype, isTransposed, round: (row) => inSteps(row, row.length) })];
  },

  gatherRows: ([table, ids]) => [rowsAt(operand(table), operand(ids))],
  gatherColumns: ([table, ids]) => {
    const at = operand(ids);
    const from = operand(table);
    return [
      denseFrom([...at.dims, from.dims[0] ?? 0], (place) =>
        elementAt(from, [place.at(-1) ?? 0, elementAt(at, place.slice(0, -1))]),
      ),
    ];
  },
  moveRows: ([table, ids]) => [rowsAt(operand(table), operand(ids))],
  placeRows: ([table, rows, ids]) => {
    const into = operand(table);
    const from = operand(rows);
    const targets = operand(ids).data;
    return [
      denseFrom(into.dims, ([id, ...rest]) => {
        const row = targets.indexOf(id);
        return row < 0 ? elementAt(into, [id, ...rest]) : elementAt(from, [row, ...rest]);
      }),
    ];
  },
  scatterAddRows: ([updates, ids], { rows }, { size }) => {
    const from = operand(updates);
    const targets = operand(ids).data;
    return [
      denseFrom([size(rows), from.dims[1] ?? 1], ([row, column = 0]) =>
        sum(Array.from(targets, (target, index) => (target === row ? elementAt(from, [index, column]) : 0))),
      ),
    ];
  },
  gatherLast: ([x, ids]) => {
    const from = operand(x);
    const at = operand(ids);
    return [denseFrom(at.dims, (place) => elementAt(from, [...place.slice(0, -1), elementAt(at, place)]))];
  },

  topIds: ([x], { count }) => [
    mapRows(operand(x), (row) => {
      const ids = Array.from(row.keys()).sort((left, right) => row[right] - row[left]);
      return Float64Array.from(ids.slice(0, count));
    }),
  ],

  softmax: ([x]) => [mapRows(operand(x), (row) => logSoftmax(row).map(Math.exp))],
  logSoftmax: ([x]) => [mapRows(operand(x), logSoftmax)],
  tokenLogprob: ([logits, ids]) => {
    const logprobs = mapRows(operand(logits), logSoftmax);
    const at = operand(ids);
    return [denseFrom(at.dims, (place) => elementAt(logprobs, [...place, elementAt(at, place)]))];
  },
  linearLogprob: ([x, weight, ids]) => logprobsUnder(operand(x), operand(weight), operand(ids)),
  int8LinearLogprob: ([x, weightCodes, scales, ids], _attributes, _scope, types) => {
    const codes = signedCodes(operand(weightCodes), types[1]);
    const weight = denseFrom(codes.dims.toReversed(), ([id = 0, channel = 0]) => {
      return elementAt(codes, [channel, id]) * elementAt(operand(scales), [id]);
    });
    const rounded = mapRows(operand(x), (row) => inSteps(row, row.length));
    return logprobsUnder(rounded, weight, operand(ids));
  },
  rmsNorm: ([x, weight], { epsilon }) => {
    const from = operand(x);
    const inverse = mapRows(from, (row) => [
      1 / Math.sqrt(sum(Array.from(row, (element) => element ** 2)) / row.length + epsilon),
    ]);
    return [mapDense([from, inverse, operand(weight)], (a, b, c) => a * b * c), inverse];
  },

  rotary: ([x, positions, cos, sin], { inverse, headSize }) => {
    const from = operand(x);
    const half = operand(cos).dims[1] ?? 1;
    const rotate = ([row = 0, token = 0, channel = 0]: readonly number[]) => {
      const within = channel % headSize;
      if (within >= 2 * half) return elementAt(from, [row, token, channel]);
      const angle = [elementAt(operand(positions), [row, token]), within % half];
      const isFirst = within < half;
      const partner = channel + (isFirst ? half : -half);
      const sign = isFirst === inverse ? 1 : -1;
      return (
        elementAt(from, [row, token, channel]) * elementAt(operand(cos), angle) +
        sign * elementAt(from, [row, token, partner]) * elementAt(operand(sin), angle)
      );
    };
    return [denseFrom(from.dims, rotate)];
  },
  causalAttention: ([q, k, v, sinks], attributes) => {
    const { kvHeads, queryHeads } = attributes;
    const [rows = 0, length = 0, width = 0] = operand(q).dims;
    const headSize = width / queryHeads;
    const cached = (x: Dense) =>
      denseFrom([rows, kvHeads, length, headSize], ([row = 0, head = 0, token = 0, channel = 0]) =>
        elementAt(x, [row, token, head * headSize + channel]),
      );
    const operands = { q: operand(q), k: operand(k), v: operand(v), past: 0, sinks };
    const attention = fusedAttention(operands, attributes);
    return [attention, cached(operand(k)), cached(operand(v))];
  },
  continuedAttention: ([q, k, v, pastKeys, pastValues, pastLength, sinks], attributes) => {
    const past = elementAt(operand(pastLength), [0]);
    const joined = (cache: Dense, x: Dense) => {
      const [, length = 0, width = 0] = x.dims;
      const headSize = cache.dims[3] ?? 1;
      return denseFrom([1, past + length, width], ([, token = 0, place = 0]) =>
        token < past
          ? elementAt(cache, [0, Math.floor(place / headSize), token, place % headSize])
          : elementAt(x, [0, token - past, place]),
      );
    };
    const keys = joined(operand(pastKeys), operand(k));
    const values = joined(operand(pastValues), operand(v));
    return [fusedAttention({ q: operand(q), k: keys, v: values, past, sinks }, attributes)];
  },
  deltaAttention: ([q, k, v, state, logDecay, strength], { heads, scale }) => {
    const [batch = 0, length = 0, width = 0] = operand(q).dims;
    const [keySize, valueSize] = [width / heads, (operand(v).dims[2] ?? 0) / heads];
    const states = [...operand(state).data];
    const result = new Float64Array(batch * length * heads * valueSize);
    for (let row = 0; row < batch; row++) {
      for (let head = 0; head < heads; head++) {
        const start = (row * heads + head) * keySize * valueSize;
        for (let token = 0; token < length; token++) {
          const decay = Math.exp(elementAt(operand(logDecay), [row, token, head]));
          for (let at = 0; at < keySize * valueSize; at++)
            states[start + at] = (states[start + at] ?? 0) * decay;
          const key = (at: number) => elementAt(operand(k), [row, token, head * keySize + at]);
          const read = (column: number, along: (at: number) => number) => {
            let sum = 0;
            for (let at = 0; at < keySize; at++)
              sum += (states[start + at * valueSize + column] ?? 0) * along(at);
            return sum;
          };
          for (let column = 0; column < valueSize; column++) {
            const value = elementAt(operand(v), [row, token, head * valueSize + column]);
            const written = elementAt(operand(strength), [row, token, head]) * (value - read(column, key));
            for (let at = 0; at < keySize; at++)
              states[start + at * valueSize + column] =
                (states[start + at * valueSize + column] ?? 0) + key(at) * written;
          }
          const query = (at: number) => elementAt(operand(q), [row, token, head * keySize + at]);
          for (let column = 0; column < valueSize; column++)
            result[((row * length + token) * heads + head) * valueSize + column] =
              scale * read(column, query);
        }
      }
    }
    return [
      { dims: operand(v).dims, data: result },
      { dims: operand(state).dims, data: Float64Array.from(states) },
    ];
  },
  gatedAttention,
  unitLowerInverse: ([a]) => [unitLowerInverse(operand(a))],
  deltaScan: (operands) => [deltaScan(operands)],
  deltaScanGradient,
  blockedAttention: ([q, k, v], attributes) => [
    fusedAttention({ q: operand(q), k: operand(k), v: operand(v), past: 0, sinks: undefined }, attributes),
  ],
  blockedAttentionGradient: ([q, k, v, , slope], attributes) =>
    attentionGradient({ q: operand(q), k: operand(k), v: operand(v), slope: operand(slope) }, attributes),
};

/** Computes the gradient by definition, one query of one head at a time. */
function attentionGradient(
  { q, k, v, slope }: Readonly<Record<"q" | "k" | "v" | "slope", Dense>>,
  { queryHeads, kvHeads, scale, window }: OpAttributes["blockedAttentionGradient"],
): readonly Dense[] {
  const [rows = 0, length = 0, width = 0] = q.dims;
  const headSize = width / queryHeads;
  const [byQ, byK, byV] = [q, k, v].map(({ dims, data }) => ({ dims, data: new Float64Array(data.length) }));
  assert(byQ !== undefined && byK !== undefined && byV !== undefined, "three gradients");
  const indices = Array.from({ length: rows * length * queryHeads }, (_, index) => index);
  for (const index of indices) {
    const [head, token] = [index % queryHeads, Math.floor(index / queryHeads) % length];
    const row = Math.floor(index / queryHeads / length);
    const first = window === 0 ? 0 : Math.max(0, token - window + 1);
    const others = Array.from({ length: token - first + 1 }, (_, place) => first + place);
    const channels = Array.from({ length: headSize }, (_, channel) => channel);
    const ofQuery = (channel: number) => (row * length + token) * width + head * headSize + channel;
    const kvHead = Math.floor(head / (queryHeads / kvHeads));
    const ofKey = (other: number, channel: number) =>
      ((row * length + other) * kvHeads + kvHead) * headSize + channel;
    const at = ({ data }: Dense, place: number) => data[place] ?? Number.NaN;
    const dot = (x: Dense, y: Dense, other: number) =>
      sum(channels.map((channel) => at(x, ofQuery(channel)) * at(y, ofKey(other, channel))));
    const weights = logSoftmax(Float64Array.from(others, (other) => scale * dot(q, k, other))).map(Math.exp);
    const pulled = others.map((other) => dot(slope, v, other));
    const mean = sum(pulled.map((pull, place) => pull * (weights[place] ?? 0)));
    for (const [place, other] of others.entries()) {
      const weight = weights[place] ?? 0;
      const byScore = scale * weight * ((pulled[place] ?? 0) - mean);
      for (const channel of channels) {
        byQ.data[ofQuery(channel)] = at(byQ, ofQuery(channel)) + byScore * at(k, ofKey(other, channel));
        byK.data[ofKey(other, channel)] = at(byK, ofKey(other, channel)) + byScore * at(q, ofQuery(channel));
        byV.data[ofKey(other, channel)] =
          at(byV, ofKey(other, channel)) + weight * at(slope, ofQuery(channel));
      }
    }
  }
  return [byQ, byK, byV];
}

interface FusedOperands {
  readonly q: Dense;
  readonly k: Dense;
  readonly v: Dense;
  readonly past: number;
  /** Additional score of each query head. */
  readonly sinks: Dense | undefined;
}

/** Attends with queries from position `past` on, over keys and values from position 0 on. */
function fusedAttention(
  { q, k, v, past, sinks }: FusedOperands,
  { queryHeads, kvHeads, scale, window }: OpAttributes["causalAttention"],
): Dense {
  const headSize = (q.dims[2] ?? 0) / queryHeads;
  const group = queryHeads / kvHeads;
  const channels = Array.from({ length: headSize }, (_, channel) => channel);
  /** Returns the positions that a query attends to, with their probabilities. */
  const lookOf = ([row = 0, token = 0, head = 0]: readonly number[]) => {
    const offset = Math.floor(head / group) * headSize;
    const position = past + token;
    const first = window === 0 ? 0 : Math.max(0, position - window + 1);
    const tokens = Array.from({ length: position - first + 1 }, (_, index) => first + index);
    const [queryAt, keyAt] = [matrixAt(q, [row]), matrixAt(k, [row])];
    const score = (other: number) =>
      sum(
        channels.map((channel) => queryAt(token, head * headSize + channel) * keyAt(other, offset + channel)),
      );
    const scores = tokens.map((other) => scale * score(other));
    const sink = sinks === undefined ? [] : [elementAt(sinks, [head])];
    const weights = logSoftmax(Float64Array.from([...scores, ...sink])).map(Math.exp);
    return { tokens, weights, offset };
  };
  const [rows = 0, length = 0] = q.dims;
  const looks = Array.from({ length: rows * length * queryHeads }, (_, index) =>
    lookOf(coordinatesOf([rows, length, queryHeads], index)),
  );
  return denseFrom(q.dims, ([row = 0, token = 0, place = 0]) => {
    const look = looks[positionOf([rows, length, queryHeads], [row, token, Math.floor(place / headSize)])];
    const { tokens, weights, offset } = present(look, "the look of a query");
    const valueAt = matrixAt(v, [row]);
    const channel = offset + (place % headSize);
    return sum(tokens.map((other, index) => (weights[index] ?? 0) * valueAt(other, channel)));
  });
}

function elementwise(combine: (...elements: number[]) => number): Meaning<OpKind> {
  return (operands) => [mapDense(operands, combine)];
}

/** Computes `linearLogprob` for rows x [N, D] and weights [V, D]. */
function logprobsUnder(rows: Dense, scores: Dense, ids: Dense): readonly Dense[] {
  const [count = 0, width = 0] = rows.dims;
  const [vocabulary = 0] = scores.dims;
  const channels = Array.from({ length: width }, (_, channel) => channel);
  const [rowAt, scoreAt] = [matrixAt(rows, []), matrixAt(scores, [])];
  const logits = denseFrom([count, vocabulary], ([row = 0, id = 0]) =>
    sum(channels.map((channel) => rowAt(row, channel) * scoreAt(id, channel))),
  );
  const logprobs = mapRows(logits, logSoftmax);
  const chanceAt = matrixAt(mapDense([logprobs], Math.exp), []);
  const idOf = (row = 0) => elementAt(ids, [row]);
  const tokens = Array.from({ length: vocabulary }, (_, id) => id);
  const expected = (row: number, of: (id: number) => number) =>
    sum(tokens.map((id) => chanceAt(row, id) * of(id)));
  return [
    denseFrom([count], ([row = 0]) => elementAt(logprobs, [row, idOf(row)])),
    denseFrom([count], ([row = 0]) => -expected(row, (id) => elementAt(logprobs, [row, id]))),
    denseFrom(
      [count, width],
      ([row = 0, channel = 0]) => scoreAt(idOf(row), channel) - expected(row, (id) => scoreAt(id, channel)),
    ),
  ];
}

/** Rounds each number to a multiple of 1/127 of the largest magnitude in its block. */
function inSteps(row: Float64Array, blockSize: number): Float64Array {
  return row.map((element, index) => {
    const start = index - (index % blockSize);
    const size = Math.max(...row.subarray(start, start + blockSize).map(Math.abs));
    return size === 0 ? 0 : (Math.round((element / size) * 127) / 127) * size;
  });
}

/** Converts codes to signed numbers. Unsigned codes are offset by 128. */
function signedCodes(codes: Dense, type: TensorType | undefined): Dense {
  return type?.dtype === "uint8" ? mapDense([codes], (code) => code - 128) : codes;
}

function rowsAt(table: Dense, ids: Dense): Dense {
  const rank = ids.dims.length;
  return denseFrom([...ids.dims, ...table.dims.slice(1)], (place) =>
    elementAt(table, [elementAt(ids, place.slice(0, rank)), ...place.slice(rank)]),
  );
}

function operand(dense: Dense | undefined): Dense {
  assert(dense !== undefined, "an operand is missing");
  return dense;
}

function batchOf({ dims }: Dense): Dense {
  return denseFrom(dims.slice(0, -2), () => 0);
}

function logSoftmax(row: Float64Array): Float64Array {
  const largest = Math.max(...row);
  const total = Math.log(sum(Array.from(row, (element) => Math.exp(element - largest))));
  return row.map((element) => element - largest - total);
}

function sigmoid(x: number): number {
  return 1 / (1 + Math.exp(-x));
}

function sum(elements: readonly number[]): number {
  return elements.reduce((total, element) => total + element, 0);
}
