/**
 * Prints a graph as text: one line per operation, in a stable form, for developers and tests. No code parses the text.
 */
import type { Graph, Node, Value } from "../graph.ts";
import { formatShape } from "../shape-rules.ts";

/** Prints a graph; values are numbered in order of use, so equal programs print equally. */
export function printGraph(graph: Graph): string {
  const names = new Map<number, string>();
  const nameOf = (value: Value): string => {
    const name = names.get(value.id) ?? `v${names.size}`;
    names.set(value.id, name);
    return name;
  };
  const lines = graph.nodes.map((node) => {
    const operands = node.inputs.map(nameOf).join(", ");
    const results = node.outputs
      .map((value) => `${nameOf(value)}: ${value.dtype}${formatShape(value.shape)}`)
      .join(", ");
    return `${results} = ${node.kind}(${operands})${formatAttributes(node)}`;
  });
  const outputs = graph.outputs.map(({ name, value }) => `${name} = ${nameOf(value)}`);
  return [...lines, `return ${outputs.join(", ")}`, ""].join("\n");
}

function formatAttributes({ attributes }: Node): string {
  const entries = Object.entries(attributes)
    // The printed result type already shows these attributes.
    .filter(([name]) => name !== "dtype" && name !== "shape")
    .map(([name, value]) => `${name}: ${formatAttribute(value)}`);
  return entries.length === 0 ? "" : ` {${entries.join(", ")}}`;
}

function formatAttribute(value: unknown): string {
  return Array.isArray(value) ? `[${value.join(", ")}]` : String(value);
}
