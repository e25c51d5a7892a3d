// The circles of a graph: its strongly connected parts (Tarjan's algorithm). Knows nothing of what the nodes are.

/**
 * The nodes that lead to each other together, each once: every part comes behind those that it leads to.
 *
 * @param onward the nodes that a node leads to
 */
export function circlesFrom<Node>(
  starts: readonly Node[],
  onward: (node: Node) => readonly Node[],
): readonly (readonly Node[])[] {
  const found: (readonly Node[])[] = [];
  const numbers = new Map<Node, number>();
  const way: Node[] = [];
  const isOnWay = new Set<Node>();
  const visit = (node: Node): number => {
    const number = numbers.size;
    numbers.set(node, number);
    way.push(node);
    isOnWay.add(node);
    let lowest = number;
    for (const next of onward(node)) {
      const known = numbers.get(next);
      if (known === undefined) lowest = Math.min(lowest, visit(next));
      else if (isOnWay.has(next)) lowest = Math.min(lowest, known);
    }
    if (lowest === number) {
      const circle = way.splice(way.lastIndexOf(node));
      for (const member of circle) isOnWay.delete(member);
      found.push(circle);
    }
    return lowest;
  };
  for (const node of starts) if (!numbers.has(node)) visit(node);
  return found;
}
