// First sets of grammar symbols: the lexemes that a symbol may begin with, each with the stacks that may follow it
// within the symbol. Rules that are left-recursive, directly or through nullable symbols, form cycles, which a set of
// stacks can represent.
import type { StepBudget } from "../../regex/limits.ts";
import { deadState } from "../../regex/automaton.ts";
import type { Automaton, LexerState } from "../../regex/automaton.ts";
import { stronglyConnectedComponents } from "./strong-components.ts";
import { isTerminal, symbolIndex } from "./rules.ts";
import type { GrammarSymbol, Production, Rules } from "./rules.ts";
import { StackGraph } from "./stack-graph.ts";
import type { GraphNode } from "./stack-graph.ts";
import { endStack, noStacks } from "./stacks.ts";
import type { StackTable } from "./stack-table.ts";
import type { Stacks } from "./stacks.ts";

export interface Start {
  readonly lexer: LexerState;
  /** Stacks that may follow the lexeme within the symbol. */
  readonly rest: Stacks;
}

/** A symbol that a production may begin with, and the symbols after it in the production. */
interface Corner {
  readonly symbol: GrammarSymbol;
  readonly behind: Production;
}

export class FirstSets {
  readonly #automaton: Automaton;
  readonly #rules: Rules;
  readonly #stacks: StackTable;
  readonly #budget: StepBudget;
  /** Nullability of each rule, cached. */
  readonly #mayBeEmpty = new Map<GrammarSymbol, boolean>();
  readonly #cycles = new Map<GrammarSymbol, ReadonlySet<GrammarSymbol>>();
  readonly #cornersOf = new Map<GrammarSymbol, readonly Corner[]>();
  readonly #starts = new Map<GrammarSymbol, readonly Start[]>();

  constructor(
    parts: { readonly automaton: Automaton; readonly rules: Rules; readonly stacks: StackTable },
    budget: StepBudget,
  ) {
    this.#automaton = parts.automaton;
    this.#rules = parts.rules;
    this.#stacks = parts.stacks;
    this.#budget = budget;
  }

  starts(symbol: GrammarSymbol): readonly Start[] {
    const known = this.#starts.get(symbol);
    if (known !== undefined) return known;
    const starts = isTerminal(symbol) ? this.#ofTerminal(symbol) : this.#ofRule(symbol);
    this.#starts.set(symbol, starts);
    return starts;
  }

  mayBeEmpty(symbol: GrammarSymbol): boolean {
    if (isTerminal(symbol)) return this.#automaton.expressions.isNullable(symbolIndex(symbol));
    if (!this.#mayBeEmpty.has(symbol)) this.#findEmpty(symbol);
    return this.#mayBeEmpty.get(symbol) === true;
  }

  #ofTerminal(symbol: GrammarSymbol): readonly Start[] {
    const lexer = this.#automaton.start(symbolIndex(symbol));
    const goesOn = lexer !== deadState && !this.#automaton.isFinished(lexer);
    return goesOn ? [{ lexer, rest: endStack }] : [];
  }

  #ofRule(rule: GrammarSymbol): readonly Start[] {
    const cycle = this.#cycleOf(rule);
    this.#budget.spend(cycle.size);
    const { graph, nodes } = this.#outward(cycle, rule);
    const follows = new Map<LexerState, Stacks>();
    for (const [member, node] of nodes) {
      const entries = this.#corners(member).filter(({ symbol }) => !cycle.has(symbol));
      if (entries.length === 0) continue;
      const outward = this.#stacks.ofGraph(graph, [node]);
      for (const { symbol, behind } of entries) {
        const after = this.#stacks.push(behind, outward);
        for (const { lexer, rest } of this.starts(symbol)) {
          const follow = this.#stacks.concat(rest, after);
          follows.set(lexer, this.#stacks.union(follows.get(lexer) ?? noStacks, follow));
        }
      }
    }
    this.#budget.spend(follows.size);
    return [...follows].map(([lexer, rest]) => ({ lexer, rest }));
  }

  /**
   * Builds the graph for a left-recursive cycle. Each path from a rule's node lists symbols that may follow the rule,
   * up to the end of the symbol `whole`.
   */
  #outward(
    cycle: ReadonlySet<GrammarSymbol>,
    whole: GrammarSymbol,
  ): { readonly graph: StackGraph; readonly nodes: ReadonlyMap<GrammarSymbol, GraphNode> } {
    const graph = new StackGraph();
    const nodes = new Map([...cycle].map((member) => [member, graph.node()]));
    for (const [member, node] of nodes) {
      if (member === whole) graph.add(node, [], endStack);
      for (const { symbol, behind } of this.#corners(member)) {
        const part = nodes.get(symbol);
        if (part !== undefined) graph.add(part, behind, node);
      }
    }
    return { graph, nodes };
  }

  /**
   * Returns all rules in the left-recursive cycle of the rule, including itself. Each rule of a cycle can begin with
   * each other rule of the cycle.
   */
  #cycleOf(rule: GrammarSymbol): ReadonlySet<GrammarSymbol> {
    const known = this.#cycles.get(rule);
    if (known !== undefined) return known;
    const onward = (one: GrammarSymbol): readonly GrammarSymbol[] =>
      this.#corners(one)
        .map(({ symbol }) => symbol)
        .filter((symbol) => !isTerminal(symbol) && !this.#cycles.has(symbol));
    for (const members of stronglyConnectedComponents([rule], onward)) {
      const cycle = new Set(members);
      for (const member of members) this.#cycles.set(member, cycle);
    }
    return this.#cycles.get(rule) ?? new Set([rule]);
  }

  #corners(rule: GrammarSymbol): readonly Corner[] {
    const known = this.#cornersOf.get(rule);
    if (known !== undefined) return known;
    const corners = this.#rules.productions(rule).flatMap((production) => {
      const obliged = production.findIndex((symbol) => !this.mayBeEmpty(symbol));
      const count = obliged < 0 ? production.length : obliged + 1;
      return production
        .slice(0, count)
        .map((symbol, index): Corner => ({ symbol, behind: production.slice(index + 1) }));
    });
    this.#budget.spend(1 + (corners.length >>> 2));
    this.#cornersOf.set(rule, corners);
    return corners;
  }

  /** Determines whether the rule can match the empty text. Does the same for all rules on which the result depends. */
  #findEmpty(rule: GrammarSymbol): void {
    const open = new Set([rule]);
    const empty = new Set<GrammarSymbol>();
    const isEmpty = (symbol: GrammarSymbol): boolean => {
      if (isTerminal(symbol) || this.#mayBeEmpty.has(symbol)) return this.mayBeEmpty(symbol);
      open.add(symbol);
      return empty.has(symbol);
    };
    const look = (one: GrammarSymbol): void => {
      const productions = this.#rules.productions(one);
      this.#budget.spend(1 + (productions.length >>> 2));
      if (productions.some((production) => production.every(isEmpty))) empty.add(one);
    };
    // `look` may add symbols to `open`. The loop visits them, too.
    for (const one of open) look(one);
    for (let before = -1; before < open.size + empty.size;) {
      before = open.size + empty.size;
      // Visits later symbols first, because earlier symbols depend on them.
      for (const one of [...open].reverse()) if (!empty.has(one)) look(one);
    }
    for (const one of open) this.#mayBeEmpty.set(one, empty.has(one));
  }
}
