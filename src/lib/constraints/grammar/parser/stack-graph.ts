// A set of stacks before it is one: a graph of symbols, in which a symbol may lead several ways and nothing may lead on.
// Each way through it to the end of a known set, and a stack of that set, is a stack of the whole.
import type { GrammarSymbol } from "./rules.ts";
import type { Stacks } from "./stacks.ts";

/** A set of stacks that is known already (its number), or a node of the graph (a negative number). */
export type GraphNode = number;

/** A way from a node to another, by a symbol or by nothing. */
export interface Way {
  readonly symbol: GrammarSymbol | null;
  readonly to: GraphNode;
}

export const isKnown = (node: GraphNode): node is Stacks => node >= 0;

export class StackGraph {
  readonly #ways: Way[][] = [];

  /** A new node, from which nothing leads on yet. */
  node(): GraphNode {
    this.#ways.push([]);
    return -this.#ways.length;
  }

  /** A way by the symbols, the first topmost. */
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
