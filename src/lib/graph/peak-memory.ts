/**
 * Estimates the peak memory of a program's live values. It walks the operations in order and frees each value after
 * its last use; parameters and inputs do not count, because they belong to the caller. The estimate is approximate:
 * the runtime's order differs slightly, and its allocator leaves gaps.
 */
import { assert, present } from "../../base/domain/assert.ts";
import { evaluateDimension } from "./dimension.ts";
import type { Dimension } from "./dimension.ts";
import type { DataType, Graph, Node, OpKind, Value } from "./graph.ts";
import { blockBytes } from "./onnx/block-sizes.ts";

const bytesPerElement: { readonly [D in DataType]: number } = {
  float32: 4,
  int64: 8,
  int32: 4,
  int8: 1,
  uint8: 1,
  bool: 1,
};

/** Operations that only rename or reshape their first operand, without moving data. */
const aliases: ReadonlySet<OpKind> = new Set(["reshape", "after", "kept", "recomputed", "stopGradient"]);

/** A block of memory, shared by a value and its aliases. */
interface Buffer {
  readonly bytes: number;
  /** Number of operations that have not read the buffer yet. */
  readerCount: number;
}

/**
 * Estimates the maximum number of bytes that live values occupy at the same time.
 *
 * @param sizes size of each dimension symbol, as `bindSymbols` finds it
 */
export function peakBytes(graph: Graph, sizes: ReadonlyMap<string, number>): number {
  const sizeOf = memoized((dimension: Dimension) => evaluateDimension(dimension, sizes));
  const bytesOf = ({ dtype, shape }: Value): number =>
    shape.reduce((bytes: number, size) => bytes * sizeOf(size), bytesPerElement[dtype]);
  const buffers = buffersOf(graph, bytesOf);
  const bufferOf = ({ id }: Value): Buffer => present(buffers.get(id), "a buffer");
  let alive = 0;
  let peak = 0;
  for (const node of graph.nodes) {
    if (aliases.has(node.kind)) continue;
    for (const made of new Set(node.outputs.map(bufferOf))) if (made.readerCount > 0) alive += made.bytes;
    peak = Math.max(peak, alive + blockBytes(node, sizeOf));
    for (const read of node.inputs.map(bufferOf)) {
      read.readerCount--;
      if (read.readerCount === 0) alive -= read.bytes;
    }
  }
  assert(alive >= 0, "nothing is freed that was not made");
  return peak;
}

/**
 * Returns the buffer of each value, with its number of readers. Outputs get an additional reader, so they are never
 * freed.
 */
function buffersOf(graph: Graph, bytesOf: (value: Value) => number): ReadonlyMap<number, Buffer> {
  const buffers = new Map<number, Buffer>();
  for (const node of graph.nodes) {
    const [origin] = node.inputs;
    const shared = aliases.has(node.kind) && origin !== undefined ? buffers.get(origin.id) : undefined;
    for (const value of node.outputs)
      buffers.set(value.id, shared ?? { bytes: isGiven(node) ? 0 : bytesOf(value), readerCount: 0 });
    if (aliases.has(node.kind)) continue;
    for (const { id } of node.inputs) present(buffers.get(id), "a buffer").readerCount++;
  }
  for (const { value } of graph.outputs) present(buffers.get(value.id), "a buffer").readerCount++;
  return buffers;
}

function isGiven({ kind }: Node): boolean {
  return kind === "input" || kind === "parameter" || kind === "constant";
}

/** Caches results, since a program has few dimensions and many values. */
function memoized<Key, Result>(compute: (key: Key) => Result): (key: Key) => Result {
  const known = new Map<Key, Result>();
  return (key) => {
    const result = known.get(key) ?? compute(key);
    known.set(key, result);
    return result;
  };
}
