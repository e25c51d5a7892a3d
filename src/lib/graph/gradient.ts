/**
 * Reverse-mode gradients: appends to a builder the operations that compute them.
 *
 * Only operations on a path from a wanted value to the loss get gradient work, so frozen weights cost nothing but the way
 * through them. What an operation's gradient is says `gradient-rules.ts`. Second derivatives work wherever every rule on
 * the way is made of differentiable operations.
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
 * @param loss float32 without axes
 * @param wanted float32 values of the same builder, such as inputs
 * @returns one gradient per wanted value, of its shape; zeros where the loss does not depend on it
 */
export function gradient(builder: GraphBuilder, loss: Value, wanted: readonly Value[]): readonly Value[] {
  assert(loss.dtype === "float32" && loss.shape.length === 0, "the loss is a float32 scalar");
  const gradients = new Map<number, Value>([[loss.id, builder.scalar(1)]]);
  const walk = new BackwardWalk(builder, dependents(builder.nodes, wanted));
  walk.pullBack(builder.nodes, gradients, (value) => value);
  return wanted.map((value) => gradients.get(value.id) ?? builder.full(value.shape, 0));
}

/** The ids of all values that depend on the wanted ones, these included. */
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
   * Walks operations from the last to the first, adding to the gradients of their operands.
   *
   * @param gradients by the id of a value; extended
   * @param valueOf where rules find a value that the forward computation made
   */
  pullBack(nodes: readonly Node[], gradients: Map<number, Value>, valueOf: (value: Value) => Value): void {
    // Rules append to the builder's nodes while these are walked.
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
    // The compiler cannot see that the rule of this node's kind takes this node.
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
