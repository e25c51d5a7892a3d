/**
 * Rematerialization (arXiv:1604.06174): parts of a program whose intermediates are computed again for the gradient,
 * instead of staying in memory until the backward pass reaches them. The gradient reads copies, made from the part's
 * inputs and from values marked with `GraphBuilder.kept`. The copies wait for the gradient of the part's result
 * (`GraphBuilder.after`); otherwise the runtime would merge them with the originals, or compute them too early.
 */
import { assert, present } from "../../base/domain/assert.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Node, Value } from "./graph.ts";

/**
 * Builds a part of a program. Of all values of the part, only its inputs, its result, and values marked as kept stay in
 * memory.
 *
 * @param inputs start of the part. The part may also use other values, such as weights and masks, which get gradients
 * as usual.
 * @param build computes the result from the inputs
 */
export function recomputed<Inputs extends readonly Value[]>(
  builder: GraphBuilder,
  inputs: Inputs,
  build: (...inputs: Inputs) => Value,
): Value {
  const result = build(...inputs);
  const { captured } = partBetween(builder, inputs, result);
  return builder.recomputed(result, inputs, captured);
}

/** Access to the backward walk for the operation `recomputed`. Its gradient is one step of that walk. */
export interface RecomputedBackward {
  readonly builder: GraphBuilder;
  /** Forward operands of the operation `recomputed`. */
  readonly originals: readonly Value[];
  readonly inputCount: number;
  /** Gradient with respect to the part's result. */
  readonly gradient: Value;
  /** Returns the value to read instead of a forward value: a copy if this part is nested in another recomputed part. */
  readonly valueOf: (value: Value) => Value;
  /** True if a value has a gradient. */
  readonly isActive: (value: Value) => boolean;
  /** Walks operations backwards from the gradients of their results, reading values through `valueOf`. */
  readonly pullBack: (
    nodes: readonly Node[],
    gradients: Map<number, Value>,
    valueOf: (value: Value) => Value,
  ) => void;
}

/**
 * Returns the gradients with respect to the part's inputs and captured values, in the order of the operands; undefined
 * for operands without a gradient.
 */
export function recomputedGradients(backward: RecomputedBackward): readonly (Value | undefined)[] {
  const { builder, originals, inputCount, gradient, valueOf, isActive, pullBack } = backward;
  const [result, ...boundary] = originals;
  assert(result !== undefined, "a recomputed part has a result");
  const starts = boundary.slice(0, inputCount);
  const captured = boundary.slice(inputCount);
  const { nodes } = partBetween(builder, starts, result);
  const copies = new Copies(builder, { nodes, starts, signal: gradient, valueOf });
  const gradients = new Map([[result.id, gradient]]);
  pullBack(nodes, gradients, (value) => copies.of(value));
  const found = (values: readonly Value[]) =>
    values.map((value) => (isActive(value) ? gradients.get(value.id) : undefined));
  // Computes the gradients of the captured parameters first, because they read the recomputed values. If the gradients
  // of the inputs came first, these values would have to stay in memory.
  const learned = found(captured);
  const signals = learned.filter((value) => value !== undefined);
  const passed = found(starts).map((value) =>
    value === undefined || signals.length === 0 ? value : builder.after(value, signals),
  );
  return [undefined, ...passed, ...learned];
}

/** Returns the operations on the paths from the inputs to the result, in order, and the other values that they read. */
function partBetween(
  builder: GraphBuilder,
  inputs: readonly Value[],
  result: Value,
): { readonly nodes: readonly Node[]; readonly captured: readonly Value[] } {
  const starts = new Set(inputs.map(({ id }) => id));
  const needed = ancestors(builder, result, starts);
  const inside = new Set<Node>();
  const isInside = (value: Value): boolean => !starts.has(value.id) && inside.has(builder.producer(value));
  // Ids are ascending in the order of the operations. A walk over all operations would be slow, because a graph has many
  // parts.
  for (const node of [...needed].toSorted((one, other) => one.outputs[0].id - other.outputs[0].id)) {
    if (node.inputs.some((value) => starts.has(value.id) || isInside(value))) inside.add(node);
  }
  const read = new Set([...inside].flatMap((node) => node.inputs));
  const captured = [...read].filter((value) => !starts.has(value.id) && !isInside(value));
  return { nodes: [...inside], captured };
}

/** Returns all operations that a value depends on, back to the part's inputs. */
function ancestors(builder: GraphBuilder, result: Value, starts: ReadonlySet<number>): ReadonlySet<Node> {
  const found = new Set<Node>();
  const pending = [result];
  for (let value = pending.pop(); value !== undefined; value = pending.pop()) {
    if (starts.has(value.id)) continue;
    const node = builder.producer(value);
    if (found.has(node)) continue;
    found.add(node);
    pending.push(...node.inputs);
  }
  return found;
}

/** Copies of a part's values, each made at its first use. */
class Copies {
  readonly #builder: GraphBuilder;
  readonly #inside: ReadonlySet<Node>;
  readonly #remembered: ReadonlySet<number>;
  readonly #signal: Value;
  readonly #valueOf: (value: Value) => Value;
  readonly #nodes = new Map<Node, Node>();

  constructor(
    builder: GraphBuilder,
    part: {
      readonly nodes: readonly Node[];
      readonly starts: readonly Value[];
      readonly signal: Value;
      readonly valueOf: (value: Value) => Value;
    },
  ) {
    this.#builder = builder;
    this.#valueOf = part.valueOf;
    this.#inside = new Set(part.nodes);
    const kept = part.nodes.filter(({ kind }) => kind === "kept");
    const remembered = [...part.starts, ...kept.flatMap(({ inputs, outputs }) => [...inputs, ...outputs])];
    this.#remembered = new Set(remembered.map(({ id }) => id));
    this.#signal = part.signal;
  }

  of(value: Value): Value {
    if (this.#remembered.has(value.id)) return this.#builder.after(this.#valueOf(value), [this.#signal]);
    const node = this.#builder.producer(value);
    if (!this.#inside.has(node)) return this.#valueOf(value);
    return present(this.#copyOf(node).outputs[node.outputs.indexOf(value)], "a copied result");
  }

  #copyOf(node: Node): Node {
    const known = this.#nodes.get(node);
    if (known !== undefined) return known;
    const copy = this.#builder.copy(
      node,
      node.inputs.map((value) => this.of(value)),
    );
    this.#nodes.set(node, copy);
    return copy;
  }
}
