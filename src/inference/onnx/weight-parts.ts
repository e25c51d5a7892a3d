// Divides a graph into parts that the runtime can load separately, each with some of the weights.
import type { Graph, NamedValue, Node, OpKind, Value } from "../../lib/graph/graph.ts";
import { byteLengthOf } from "../../lib/graph/weight-source.ts";

/** Operations and weights from which a value can be computed. */
interface Fixed {
  readonly nodes: readonly Node[];
  readonly weights: readonly NamedValue[];
}

/** Products with weights, for which the runtime arranges the weights. */
const products: ReadonlySet<OpKind> = new Set(["matMul", "gemm", "int8MatMul", "int4MatMul", "expertMatMul"]);

/** Maximum size in bytes of the weights of an operation that shares a part with others. */
const sharedBytesMax = 2 ** 20;

/**
 * Returns a part for each product with weights, and one part for all other operations that apply small weights, because
 * loading a part takes milliseconds. Omits lookups of rows, for which the runtime never arranges a table.
 */
export function partsWithWeights(graph: Graph): readonly Graph[] {
  const operations = operationsWithWeights(graph).filter(({ kind }) => kind !== "gatherRows");
  const isSmall = ({ kind, part }: Operation): boolean =>
    !products.has(kind) && weightBytesOf(part) <= sharedBytesMax;
  const small = operations.filter(isSmall).map(({ part }) => part);
  const others = operations.filter((operation) => !isSmall(operation)).map(({ part }) => part);
  return small.length === 0 ? others : [...others, joined(small)];
}

export function weightBytesOf({ parameters }: Graph): number {
  return parameters.reduce((sum, { value }) => sum + byteLengthOf(value), 0);
}

/** An operation that applies weights to other values, together with those that compute its operands from weights. */
interface Operation {
  readonly kind: OpKind;
  readonly part: Graph;
}

function operationsWithWeights({ nodes, parameters }: Graph): readonly Operation[] {
  const fixed = new Map<number, Fixed>(
    parameters.map((parameter) => [parameter.value.id, { nodes: [], weights: [parameter] }]),
  );
  return nodes.flatMap((node) => {
    const operands = node.inputs.map(({ id }) => fixed.get(id));
    const known = operands.filter((operand) => operand !== undefined);
    const own = [...new Set(known.flatMap((operand) => operand.nodes)), node];
    const weights = [...new Set(known.flatMap((operand) => operand.weights))];
    const isFixed = known.length === operands.length && (operands.length > 0 || node.kind === "constant");
    if (isFixed) for (const { id } of node.outputs) fixed.set(id, { nodes: own, weights });
    if (isFixed || weights.length === 0) return [];
    const named = (value: Value): NamedValue => ({ name: `value ${value.id}`, value });
    const inputs = node.inputs.filter(({ id }) => !fixed.has(id)).map(named);
    const part = { nodes: own, inputs, parameters: weights, outputs: node.outputs.map(named) };
    return [{ kind: node.kind, part }];
  });
}

/** Joins parts of a graph. Values that one part computes for another are no inputs of the whole. */
function joined(parts: readonly Graph[]): Graph {
  const idOf = ({ outputs }: Node): number => outputs[0].id;
  const nodes = [...new Set(parts.flatMap((part) => part.nodes))].toSorted(
    (one, other) => idOf(one) - idOf(other),
  );
  const computed = new Set(nodes.flatMap(({ outputs }) => outputs.map(({ id }) => id)));
  const inputs = once(parts.flatMap((part) => part.inputs)).filter(({ value }) => !computed.has(value.id));
  const parameters = once(parts.flatMap((part) => part.parameters));
  return { nodes, inputs, parameters, outputs: once(parts.flatMap((part) => part.outputs)) };
}

function once(values: readonly NamedValue[]): readonly NamedValue[] {
  return [...new Map(values.map((named) => [named.name, named])).values()];
}
