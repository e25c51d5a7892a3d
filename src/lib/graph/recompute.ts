/**
 * Parts of a program whose inside is not remembered for the gradient but computed again (arXiv:1604.06174).
 *
 * Without this a gradient reads whatever the forward computation made, so all of it stays in memory until the way back
 * has come to it. Within a recomputed part the gradient reads copies instead, made from the part's inputs and from what
 * was marked with `GraphBuilder.kept`. The copies wait for the gradient that comes into the part (`GraphBuilder.after`):
 * otherwise the runtime would merge them with the originals, or make them long before they are needed.
 */
import { assert, present } from "../../base/domain/assert.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Node, Value } from "./graph.ts";

/**
 * Builds a part of a program that keeps only its inputs, its result, and what it marks as kept.
 *
 * @param inputs what the part starts from; it may use any other value too, such as weights and masks, which have their
 *   gradient as everywhere
 * @param build what is made of the inputs
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

/** What the gradient of a recomputed part needs of the walk that it is a step of. */
export interface RecomputedBackward {
  readonly builder: GraphBuilder;
  /** The operands of the operation `recomputed`, as the forward computation made them. */
  readonly originals: readonly Value[];
  readonly inputCount: number;
  /** The gradient by the part's result. */
  readonly gradient: Value;
  /** Where the forward computation's values are found: this part may lie in another one that is computed again. */
  readonly valueOf: (value: Value) => Value;
  /** Whether a value has a gradient at all. */
  readonly isActive: (value: Value) => boolean;
  /** Walks operations backwards from gradients by their results to those by everything, reading values through `valueOf`. */
  readonly pullBack: (
    nodes: readonly Node[],
    gradients: Map<number, Value>,
    valueOf: (value: Value) => Value,
  ) => void;
}

/** The gradients by the part's inputs and by what it captured, in the order of the operands; undefined where there is none. */
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
  // Whatever learns here is done with first: its gradient reads what was computed again, which would else stay for it.
  const learned = found(captured);
  const signals = learned.filter((value) => value !== undefined);
  const passed = found(starts).map((value) =>
    value === undefined || signals.length === 0 ? value : builder.after(value, signals),
  );
  return [undefined, ...passed, ...learned];
}

/** The operations on the ways from the inputs to the result, in order, and what else they read. */
function partBetween(
  builder: GraphBuilder,
  inputs: readonly Value[],
  result: Value,
): { readonly nodes: readonly Node[]; readonly captured: readonly Value[] } {
  const starts = new Set(inputs.map(({ id }) => id));
  const needed = ancestors(builder, result, starts);
  const inside = new Set<Node>();
  const isInside = (value: Value): boolean => !starts.has(value.id) && inside.has(builder.producer(value));
  for (const node of builder.nodes) {
    if (!needed.has(node)) continue;
    if (node.inputs.some((value) => starts.has(value.id) || isInside(value))) inside.add(node);
  }
  const read = new Set([...inside].flatMap((node) => node.inputs));
  const captured = [...read].filter((value) => !starts.has(value.id) && !isInside(value));
  return { nodes: [...inside], captured };
}

/** Everything that a value is made of, back to where the part starts. */
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

/** The values of a part computed again, each when it is first asked for. */
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
