// A set of stacks under construction: a nondeterministic graph whose edges carry a symbol or are empty. Each stack of
// the set has the symbols on a path to a known set, and below them a stack of that known set.
import type { GrammarSymbol } from "./rules.ts";
import type { Stacks } from "./stacks.ts";

/** The number of a known set of stacks, or a node of the graph (a negative number). */
export type GraphNode = number;

/** An edge to another node; its symbol is null for an empty edge. */
export interface Way {
  readonly symbol: GrammarSymbol | null;
  readonly to: GraphNode;
}

export const isKnown = (node: GraphNode): node is Stacks => node >= 0;

export class StackGraph {
  readonly #ways: Way[][] = [];

  /** Adds a node without outgoing edges. */
  node(): GraphNode {
    this.#ways.push([]);
    return -this.#ways.length;
  }

  /** Adds a path that carries these symbols, the topmost first. */
  add(from: GraphNode, symbols: readonly GrammarSymbol[], to: GraphNode): void {
    let at = from;
    for (const [index, symbol] of symbols.entries()) {
      const next = index === symbols.length - 1 ? to : this.node();
      this.waysFrom(at).push({ symbol, to: next });
      at = next;
    }
    if (symbols.length === 0) this.waysFrom(from).push({ symbol: null, to });
  }

  waysFrom(node: GraphNode): Way[] {
    return this.#ways[-node - 1];
  }
}
