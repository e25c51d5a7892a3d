// Cuts a graph into consecutive graphs that are run one after the other, so that only the weights of one of them need
// to be in memory.
import { present } from "../../base/domain/assert.ts";
import type { Graph, NamedValue, Node, Value } from "./graph.ts";
import { byteLengthOf } from "./weight-source.ts";

export interface GraphPart {
  /**
   * Graph without parameters. Its inputs are all inputs of the whole graph, the results of earlier parts that this part
   * reads, and `weights`.
   */
  readonly graph: Graph;
  /** Parameters of the whole graph that this part reads. */
  readonly weights: readonly NamedValue[];
}

/**
 * Cuts a graph into parts.
 *
 * @param bytesMax maximum size in bytes of a part's weights; an operation that reads more has a part of its own
 */
export function cutGraph(graph: Graph, bytesMax: number): readonly GraphPart[] {
  const weightOf = new Map(graph.parameters.map((parameter) => [parameter.value.id, parameter]));
  const parts = groupNodes(neededNodes(graph), weightOf, bytesMax);
  const constantOf = new Map<number, Node>();
  for (const node of graph.nodes)
    if (node.kind === "constant") constantOf.set(present(node.outputs[0], "a constant").id, node);
  const given = new Set(graph.inputs.map(({ value }) => value.id));
  const outputNames = new Map(graph.outputs.map(({ name, value }) => [value.id, name]));
  const named = (value: Value): NamedValue => ({
    name: outputNames.get(value.id) ?? `value.${value.id}`,
    value,
  });
  // Ids of the values that later parts or the caller read.
  const wanted = new Set(outputNames.keys());
  return parts
    .toReversed()
    .map((nodes): GraphPart => {
      const made = new Map(nodes.flatMap(({ outputs }) => outputs).map((value) => [value.id, value]));
      const outputs = [...made.values()].filter(({ id }) => wanted.has(id)).map(named);
      const read = new Map(nodes.flatMap(({ inputs }) => inputs).map((value) => [value.id, value]));
      const outside = [...read.values()].filter(({ id }) => !made.has(id) && !given.has(id));
      const constants = outside.flatMap(({ id }) => constantOf.get(id) ?? []);
      const weights = outside.flatMap(({ id }) => weightOf.get(id) ?? []);
      const received = outside.filter(({ id }) => !constantOf.has(id) && !weightOf.has(id));
      for (const { id } of received) wanted.add(id);
      const inputs = [...graph.inputs, ...received.map(named), ...weights];
      const all = [...inputs.map(inputNode), ...constants, ...nodes];
      return { graph: { nodes: all, inputs, parameters: [], outputs }, weights };
    })
    .toReversed();
}

function inputNode({ name, value }: NamedValue): Node<"input"> {
  const { dtype, shape } = value;
  return { kind: "input", inputs: [], attributes: { name, dtype, shape }, outputs: [value] };
}

/**
 * Returns the operations on which outputs depend, each with only the operands that it reads. Other operations and
 * operands serve only to build the gradient.
 */
function neededNodes({ nodes, outputs }: Graph): readonly Node[] {
  const needed = new Set(outputs.map(({ value }) => value.id));
  const found = nodes.toReversed().flatMap((node) => {
    if (!node.outputs.some(({ id }) => needed.has(id))) return [];
    const isMark = node.kind === "recomputed" || node.kind === "kept";
    const inputs = isMark ? node.inputs.slice(0, 1) : node.inputs;
    for (const { id } of inputs) needed.add(id);
    return [{ ...node, inputs }];
  });
  return found.toReversed();
}

function groupNodes(
  nodes: readonly Node[],
  weightOf: ReadonlyMap<number, NamedValue>,
  bytesMax: number,
): readonly (readonly Node[])[] {
  let part: Node[] = [];
  let held = new Map<number, number>();
  const parts = [part];
  for (const node of nodes) {
    if (node.kind === "input" || node.kind === "parameter" || node.kind === "constant") continue;
    const weights = node.inputs.filter(({ id }) => weightOf.has(id));
    const sizes = weights.map((value) => [value.id, byteLengthOf(value)] as const);
    const together = new Map([...held, ...sizes]);
    const bytes = [...together.values()].reduce((sum, size) => sum + size, 0);
    const isFull = held.size > 0 && together.size > held.size && bytes > bytesMax;
    if (isFull) parts.push((part = []));
    held = isFull ? new Map(sizes) : together;
    part.push(node);
  }
  return parts;
}
