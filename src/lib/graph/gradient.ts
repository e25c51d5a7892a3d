/**
 * Reverse-mode gradients: appends the operations that compute them to a builder.
 *
 * Only operations on a path from a wanted value to the loss are differentiated, so frozen weights cost only the path
 * through them. `gradient-rules.ts` has the gradient of each operation. Second derivatives work if all rules on the
 * path consist of differentiable operations.
 */
import { assert, present } from "../../base/domain/assert.ts";
import type { GraphBuilder } from "./builder.ts";
import type { Shape } from "./dimension.ts";
import { gradientRules, NOT_DIFFERENTIABLE } from "./gradient-rules.ts";
import type { Contributions, GradientRule } from "./gradient-rules.ts";
import type { Node, OpKind, Value } from "./graph.ts";
import { sameShape } from "./shape-rules.ts";

/**
 * Appends the gradients of a scalar.
 *
 * @param loss float32 of rank 0
 * @param wanted float32 values of the same builder, such as inputs
 * @returns one gradient per wanted value, of the same shape; zeros if the loss does not depend on it
 */
export function gradient(builder: GraphBuilder, loss: Value, wanted: readonly Value[]): readonly Value[] {
  assert(loss.dtype === "float32" && loss.shape.length === 0, "the loss is a float32 scalar");
  const gradients = new Map<number, Value>([[loss.id, builder.scalar(1)]]);
  const walk = new BackwardWalk(builder, dependents(builder.nodes, wanted));
  walk.pullBack(builder.nodes, gradients, (value) => value);
  return wanted.map((value) => gradients.get(value.id) ?? builder.full(value.shape, 0));
}

/** Returns the ids of all values that depend on a wanted value, including the ids of the wanted values. */
function dependents(nodes: readonly Node[], wanted: readonly Value[]): ReadonlySet<number> {
  const active = new Set(wanted.map(({ id }) => id));
  for (const { inputs, outputs } of nodes) {
    if (inputs.some(({ id }) => active.has(id))) for (const { id } of outputs) active.add(id);
  }
  return active;
}

class BackwardWalk {
  readonly #builder: GraphBuilder;
  readonly #active: ReadonlySet<number>;

  constructor(builder: GraphBuilder, active: ReadonlySet<number>) {
    this.#builder = builder;
    this.#active = active;
  }

  /**
   * Walks operations from last to first, and adds each operation's contribution to the gradients of its operands.
   *
   * @param gradients gradients by value id; this function adds to this map
   * @param valueOf maps a value of the forward pass to the value that a gradient rule reads; with recomputation, a
   *   recomputed copy
   */
  pullBack(nodes: readonly Node[], gradients: Map<number, Value>, valueOf: (value: Value) => Value): void {
    // Iterates over a copy, because rules append to the builder's nodes.
    for (const node of [...nodes].reverse()) {
      const output = present(node.outputs[0], "a result");
      const outputGradient = gradients.get(output.id);
      if (outputGradient === undefined || !this.#active.has(output.id)) continue;
      for (const [index, contribution] of this.#contributions(node, outputGradient, valueOf).entries()) {
        const input = present(node.inputs[index], "an operand");
        if (contribution === undefined || !this.#active.has(input.id)) continue;
        const added = sumToShape(this.#builder, contribution(), input.shape);
        const known = gradients.get(input.id);
        gradients.set(input.id, known === undefined ? added : this.#builder.add(known, added));
      }
    }
  }

  #contributions(node: Node, outputGradient: Value, valueOf: (value: Value) => Value): Contributions {
    const rule = gradientRules[node.kind];
    if (rule === NOT_DIFFERENTIABLE) return [];
    const outputs = node.outputs.map(valueOf);
    // Safe cast: the compiler cannot see that the rule belongs to the node's kind.
    return (rule as GradientRule<OpKind>)({
      builder: this.#builder,
      attributes: node.attributes,
      inputs: node.inputs.map(valueOf),
      originals: node.inputs,
      valueOf,
      output: present(outputs[0], "a result"),
      outputs,
      gradient: outputGradient,
      isActive: ({ id }) => this.#active.has(id),
      pullBack: (...walk) => this.pullBack(...walk),
    });
  }
}

/** Sums a gradient over the axes along which its operand was broadcast. */
function sumToShape(builder: GraphBuilder, value: Value, shape: Shape): Value {
  if (sameShape(value.shape, shape)) return value;
  const extra = value.shape.length - shape.length;
  const axes = value.shape.flatMap((size, axis) =>
    axis < extra || (shape[axis - extra] === 1 && size !== 1) ? [axis] : [],
  );
  return builder.reshape(builder.reduceSum(value, axes, true), shape);
}
