// Determinizes a graph of stacks by the subset construction, so that each symbol leads to exactly one successor. A set
// of stacks that already has a number is treated as a single node of the graph.
import type { GrammarSymbol } from "./rules.ts";
import { isKnown } from "./stack-graph.ts";
import type { GraphNode, StackGraph } from "./stack-graph.ts";
import type { Stacks, StackTops } from "./stacks.ts";

/**
 * A set of stacks that has no number yet. `below[i]` is the set of the stacks that lie below the top symbol
 * `symbols[i]`.
 */
export interface Draft {
  /** Nodes of the graph. The set's stacks are the paths that begin at these nodes. */
  readonly nodes: readonly GraphNode[];
  readonly mayEnd: boolean;
  readonly symbols: readonly GrammarSymbol[];
  readonly below: readonly (Draft | Stacks)[];
}

interface OpenDraft extends Draft {
  mayEnd: boolean;
  readonly symbols: GrammarSymbol[];
  readonly below: (Draft | Stacks)[];
}

/** Access to the sets of stacks that already have numbers. */
export interface KnownStacks {
  topsOf(stacks: Stacks): StackTops;
  /** Replaces sets of stacks by their union if the union already has a number. So as few sets as possible remain. */
  united(all: readonly Stacks[]): readonly Stacks[];
  /** Charges steps to the budget. */
  spend(steps: number): void;
}

/**
 * Returns the set of all stacks that begin at one of the nodes. The result is a set that already has a number, or a
 * draft from which all other drafts can be reached.
 */
export function determinize(
  graph: StackGraph,
  starts: readonly GraphNode[],
  known: KnownStacks,
): Draft | Stacks {
  const drafts = new Map<string, OpenDraft>();
  const open: OpenDraft[] = [];
  const draftOf = (from: readonly GraphNode[]): Draft | Stacks => {
    const nodes = reached(graph, from, known);
    known.spend(1 + nodes.length);
    if (nodes.length === 1 && isKnown(nodes[0])) return nodes[0];
    const key = nodes.join(",");
    const before = drafts.get(key);
    if (before !== undefined) return before;
    const draft: OpenDraft = { nodes, mayEnd: false, symbols: [], below: [] };
    drafts.set(key, draft);
    open.push(draft);
    return draft;
  };
  const first = draftOf(starts);
  for (let draft = open.pop(); draft !== undefined; draft = open.pop()) {
    draft.mayEnd = draft.nodes.some((node) => isKnown(node) && known.topsOf(node).mayEnd);
    const ways = waysBySymbol(draft.nodes, graph, known);
    draft.symbols.push(...[...ways.keys()].sort((one, other) => one - other));
    for (const symbol of draft.symbols) draft.below.push(draftOf(ways.get(symbol) ?? []));
  }
  return first;
}

/** Returns the epsilon closure of the nodes, sorted. Its sets of stacks that have numbers are united where possible. */
function reached(graph: StackGraph, from: readonly GraphNode[], known: KnownStacks): readonly GraphNode[] {
  const nodes = new Set(from);
  for (const node of nodes) {
    if (isKnown(node)) continue;
    for (const { symbol, to } of graph.waysFrom(node)) if (symbol === null) nodes.add(to);
  }
  const open = [...nodes].filter((node) => !isKnown(node));
  return [...open, ...known.united([...nodes].filter(isKnown))].sort((one, other) => one - other);
}

function waysBySymbol(
  nodes: readonly GraphNode[],
  graph: StackGraph,
  known: KnownStacks,
): ReadonlyMap<GrammarSymbol, readonly GraphNode[]> {
  const ways = new Map<GrammarSymbol, GraphNode[]>();
  const add = (symbol: GrammarSymbol, to: GraphNode): void => {
    const others = ways.get(symbol);
    if (others === undefined) ways.set(symbol, [to]);
    else others.push(to);
  };
  for (const node of nodes) {
    if (isKnown(node)) {
      const { symbols, below } = known.topsOf(node);
      for (const [index, symbol] of symbols.entries()) add(symbol, below[index]);
    } else {
      for (const { symbol, to } of graph.waysFrom(node)) if (symbol !== null) add(symbol, to);
    }
  }
  return ways;
}
