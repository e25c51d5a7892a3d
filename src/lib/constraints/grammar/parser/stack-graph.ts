// A set of stacks under construction, as a nondeterministic graph whose edges are symbols or empty. Each path to a
// known set, followed by a stack of that set, is a stack of the whole.
import type { GrammarSymbol } from "./rules.ts";
import type { Stacks } from "./stacks.ts";

/** A known set of stacks (its number), or a node of the graph (a negative number). */
export type GraphNode = number;

/** An edge to another node, with a symbol or null for an empty one. */
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

  /** Adds a path with these symbols, the first one topmost. */
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
