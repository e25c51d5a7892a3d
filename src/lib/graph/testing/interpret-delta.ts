// Computes the operations of delta rules and of linear attention for the reference interpreter, one number at a time.
import { assert, present } from "../../../base/domain/assert.ts";
import type { Dense } from "./dense.ts";

/** Returns linear attention with decay, and the state after the last token. */
export function gatedAttention(
  operands: readonly Dense[],
  { keyHeads, heads }: { readonly keyHeads: number; readonly heads: number },
): readonly Dense[] {
  const [q, k, v, state, logDecay] = operands;
  const [batch, , keySize, valueSize] = state.dims;
  const length = v.dims[1];
  const states = state.data.slice();
  const result = new Float64Array(v.data.length);
  for (let at = 0; at < result.length; at++) {
    const column = at % valueSize;
    const head = Math.floor(at / valueSize) % heads;
    const token = Math.floor(at / (valueSize * heads));
    const row = Math.floor(token / length);
    const key = (token * keyHeads + Math.floor((head * keyHeads) / heads)) * keySize;
    const decay = Math.exp(logDecay.data[token * heads + head]);
    for (let element = 0; element < keySize; element++) {
      const place = ((row * heads + head) * keySize + element) * valueSize + column;
      states[place] = states[place] * decay + k.data[key + element] * v.data[at];
      result[at] += q.data[key + element] * states[place];
    }
  }
  assert(batch * length * heads * valueSize === result.length, "the state fits the values");
  return [
    { dims: v.dims, data: result },
    { dims: state.dims, data: states },
  ];
}

/** Returns (I + the strictly lower part of a)⁻¹ by forward substitution. */
export function unitLowerInverse({ dims, data }: Dense): Dense {
  const size = present(dims.at(-1), "a size");
  const inverse = new Float64Array(data.length);
  for (let start = 0; start < data.length; start += size * size) {
    for (let row = 0; row < size; row++) {
      for (let column = 0; column < size; column++) {
        let value = row === column ? 1 : 0;
        for (let at = 0; at < row; at++)
          value -= data[start + row * size + at] * inverse[start + at * size + column];
        inverse[start + row * size + column] = value;
      }
    }
  }
  return { dims, data: inverse };
}

type Matrix = readonly (readonly number[])[];

const times = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) =>
    (b[0] ?? []).map((_, column) => row.reduce((sum, value, at) => sum + value * b[at][column], 0)),
  );
const turned = (a: Matrix): Matrix => (a[0] ?? []).map((_, column) => a.map((row) => row[column]));
const plus = (a: Matrix, b: Matrix, factor = 1): Matrix =>
  a.map((row, index) => row.map((value, column) => value + factor * b[index][column]));
const scaled = (a: Matrix, factor: number): Matrix => a.map((row) => row.map((value) => value * factor));

/** Returns the matrix at [chunk, row and head] of an array [N, B, H, rows, columns]. */
function matrixOf({ dims, data }: Dense, chunk: number, head: number): Matrix {
  const [, batch = 0, heads = 0, rows = 0, columns = 0] = dims;
  const start = (chunk * batch * heads + head) * rows * columns;
  return Array.from({ length: rows }, (_, row) => [
    ...data.subarray(start + row * columns, start + (row + 1) * columns),
  ]);
}

/** Returns an array of the given size, filled with the matrices that `at` returns. */
function filled(dims: readonly number[], at: (chunk: number, head: number) => Matrix): Dense {
  const [count = 0, batch = 0, heads = 0] = dims;
  const matrices = Array.from({ length: count * batch * heads }, (_, index) =>
    at(Math.floor(index / (batch * heads)), index % (batch * heads)).flat(),
  );
  return { dims, data: Float64Array.from(matrices.flat()) };
}

/**
 * Runs the scan for one head of one row; returns the state before each chunk, the chunk's rest (u − w S) and its
 * result.
 */
function scanHead(operands: readonly Dense[], head: number) {
  const [u, w, q, p, k, decay] = operands;
  const [count = 0] = u.dims;
  let state: Matrix = Array.from({ length: w.dims[4] }, () => Array<number>(u.dims[4]).fill(0));
  return Array.from({ length: count }, (_, chunk) => {
    const before = state;
    const rest = plus(matrixOf(u, chunk, head), times(matrixOf(w, chunk, head), before), -1);
    const result = plus(times(matrixOf(q, chunk, head), before), times(matrixOf(p, chunk, head), rest));
    const [[factor]] = matrixOf(decay, chunk, head);
    state = plus(scaled(before, factor), times(turned(matrixOf(k, chunk, head)), rest));
    return { before, rest, result };
  });
}

export function deltaScan(operands: readonly Dense[]): Dense {
  const heads = new Map<number, ReturnType<typeof scanHead>>();
  return filled(operands[0].dims, (chunk, head) => {
    const scanned = heads.get(head) ?? scanHead(operands, head);
    heads.set(head, scanned);
    return scanned[chunk].result;
  });
}

export function deltaScanGradient(all: readonly Dense[]): readonly Dense[] {
  const operands = all.slice(0, 6);
  const [u, w, q, p, k, decay, gradient] = all;
  const [count = 0] = u.dims;
  const slopes = new Map<number, readonly (readonly Matrix[])[]>();
  const slopesOf = (head: number): readonly (readonly Matrix[])[] => {
    const known = slopes.get(head);
    if (known !== undefined) return known;
    const scanned = scanHead(operands, head);
    let after: Matrix = scaled(scanned[0].before, 0);
    const found = Array.from({ length: count }, (_, step) => {
      const chunk = count - 1 - step;
      const { before, rest } = scanned[chunk];
      const at = (x: Dense): Matrix => matrixOf(x, chunk, head);
      const slope = at(gradient);
      const byRest = plus(times(turned(at(p)), slope), times(at(k), after));
      const byDecay = after.flatMap((row, index) =>
        row.map((value, column) => value * before[index][column]),
      );
      const result = [
        byRest,
        scaled(times(byRest, turned(before)), -1),
        times(slope, turned(before)),
        times(slope, turned(rest)),
        times(rest, turned(after)),
        [[byDecay.reduce((sum, value) => sum + value, 0)]],
      ];
      const [[factor]] = at(decay);
      const read = plus(times(turned(at(q)), slope), times(turned(at(w)), byRest), -1);
      after = plus(scaled(after, factor), read);
      return result;
    }).reverse();
    slopes.set(head, found);
    return found;
  };
  return operands.map(({ dims }, index) => filled(dims, (chunk, head) => slopesOf(head)[chunk][index]));
}
