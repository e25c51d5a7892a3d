// Finds the strongly connected components of a graph (Tarjan's algorithm) with nodes of any type.

/**
 * Returns the strongly connected components reachable from the starts. Each component comes after the components that
 * it leads to.
 *
 * @param onward returns the successors of a node
 */
export function stronglyConnectedComponents<Node>(
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
      const cycle = way.splice(way.lastIndexOf(node));
      for (const member of cycle) isOnWay.delete(member);
      found.push(cycle);
    }
    return lowest;
  };
  for (const node of starts) if (!numbers.has(node)) visit(node);
  return found;
}
