// Numbers all sets of stacks that a parser has reached. The stacks of a set, read from the top, form a regular
// language, and the set's number is a state of one minimal automaton for all sets. Equal sets thus have the same
// number, common lower parts are stored once, and left recursion becomes a cycle instead of an ever-growing set.
import { limitExceeded } from "../../regex/limits.ts";
import type { GrammarLimits, StepBudget } from "../../regex/limits.ts";
import { stronglyConnectedComponents } from "./strong-components.ts";
import { determinize } from "./determinize.ts";
import type { Draft, KnownStacks } from "./determinize.ts";
import type { GrammarSymbol } from "./rules.ts";
import { equivalenceClasses, isMember, memberAt, memberIndex, canonicalCycle } from "./cycle-identity.ts";
import type { Member } from "./cycle-identity.ts";
import { isKnown, StackGraph } from "./stack-graph.ts";
import type { GraphNode } from "./stack-graph.ts";
import { noStacks, endStack } from "./stacks.ts";
import type { Stacks, StackTops } from "./stacks.ts";

interface GraphSource {
  readonly graph: StackGraph;
  readonly starts: readonly GraphNode[];
  readonly united: KnownStacks["united"];
}

/** Measured memory in bytes of a set (its tops and their key), and of a cached union or concatenation. */
const [bytesPerStacks, bytesPerPair] = [350, 60];

/** Greater than the number of sets under any limit, so two sets combine into one numeric key. */
const pairFactor = 2 ** 26;

export class StackTable {
  readonly #limits: GrammarLimits;
  readonly #budget: StepBudget;
  readonly #tops: StackTops[] = [];
  readonly #known = new Map<string, Stacks>();
  /** True if a cycle can be reached from the set, which then contains stacks of unbounded height. */
  readonly #isCyclic: boolean[] = [];
  /** For each set that belongs to a cycle, the members of that cycle. */
  readonly #cycles = new Map<Stacks, readonly Stacks[]>();
  /**
   * Members of each cycle, by the cycle's canonical name. The name depends on the member from which it starts, so each
   * cycle has one entry per member. An entry lists the members in the order of its name.
   */
  readonly #seen = new Map<string, readonly Stacks[]>();
  readonly #unions = new Map<number, Stacks>();
  readonly #chains = new Map<number, Stacks>();

  constructor(limits: GrammarLimits, budget: StepBudget) {
    this.#limits = limits;
    this.#budget = budget;
    this.#intern({ mayEnd: false, symbols: [], below: [] });
    this.#intern({ mayEnd: true, symbols: [], below: [] });
  }

  /** Approximate memory in bytes. */
  get byteLength(): number {
    const pairs = this.#unions.size + this.#chains.size;
    return this.#tops.length * bytesPerStacks + pairs * bytesPerPair;
  }

  tops(stacks: Stacks): StackTops {
    return this.#tops[stacks];
  }

  /** Returns the set with the symbols pushed onto each stack; the first symbol becomes the top. */
  push(symbols: readonly GrammarSymbol[], stacks: Stacks): Stacks {
    if (stacks === noStacks) return noStacks;
    return symbols.reduceRight(
      (below, symbol) => this.#intern({ mayEnd: false, symbols: [symbol], below: [below] }),
      stacks,
    );
  }

  /** Returns the union of the sets. */
  union(one: Stacks, other: Stacks): Stacks {
    if (one === other || other === noStacks) return one;
    if (one === noStacks) return other;
    const known = this.#unions.get(keyOf(one, other));
    if (known !== undefined) return known;
    this.#budget.spend(1);
    const all =
      this.#isCyclic[one] && this.#isCyclic[other]
        ? this.#unionCyclic(one, other)
        : this.#unionOf(this.#tops[one], this.#tops[other]);
    this.#unions.set(keyOf(one, other), all);
    return all;
  }

  /** Returns all stacks that consist of an upper stack on top of a lower stack. */
  concat(upper: Stacks, lower: Stacks): Stacks {
    if (upper === endStack || lower === noStacks) return lower;
    if (lower === endStack || upper === noStacks) return upper;
    const key = upper * pairFactor + lower;
    const known = this.#chains.get(key);
    if (known !== undefined) return known;
    this.#budget.spend(1);
    const all = this.#isCyclic[upper]
      ? this.#concatCyclic(upper, lower)
      : this.#concatOf(this.#tops[upper], lower);
    this.#chains.set(key, all);
    return all;
  }

  /** Returns the set of the graph's stacks that begin at one of the nodes. */
  ofGraph(graph: StackGraph, starts: readonly GraphNode[]): Stacks {
    const union = (all: readonly Stacks[]): Stacks =>
      all.reduce((one, other) => this.union(one, other), noStacks);
    return this.#ofGraph({ graph, starts, united: (all) => (all.length > 1 ? [union(all)] : all) });
  }

  #ofGraph({ graph, starts, united }: GraphSource): Stacks {
    const first = determinize(graph, starts, {
      topsOf: (stacks) => this.#tops[stacks],
      united,
      spend: (steps) => this.#budget.spend(steps),
    });
    if (!isDraft(first)) return first;
    const numbers = new Map<Draft, Stacks>();
    for (const cycle of stronglyConnectedComponents([first], ({ below }) => below.filter(isDraft)))
      this.#number(cycle, numbers);
    for (const [{ nodes }, stacks] of numbers)
      if (nodes.length === 2 && nodes.every(isKnown)) this.#unions.set(keyOf(nodes[0], nodes[1]), stacks);
    return numbers.get(first) ?? noStacks;
  }

  /**
   * Unites two sets that both lead to cycles. Uses the product construction: the union of a pair may contain the union
   * of the same pair again.
   */
  #unionCyclic(one: Stacks, other: Stacks): Stacks {
    const united = (pair: readonly Stacks[]): readonly Stacks[] => {
      if (pair.length < 2) return pair;
      const isFinite = pair.some((stacks) => !this.#isCyclic[stacks]);
      const known = isFinite ? this.union(pair[0], pair[1]) : this.#unions.get(keyOf(pair[0], pair[1]));
      return known === undefined ? pair : [known];
    };
    return this.#ofGraph({ graph: new StackGraph(), starts: [one, other], united });
  }

  #unionOf(one: StackTops, other: StackTops): Stacks {
    const below = new Map<GrammarSymbol, Stacks>();
    for (const { symbols, below: parts } of [one, other]) {
      for (const [index, symbol] of symbols.entries())
        below.set(symbol, this.union(below.get(symbol) ?? noStacks, parts[index]));
    }
    const symbols = [...below.keys()].sort((first, second) => first - second);
    return this.#intern({
      mayEnd: one.mayEnd || other.mayEnd,
      symbols,
      below: symbols.map((symbol) => below.get(symbol) ?? noStacks),
    });
  }

  #concatOf({ mayEnd, symbols, below }: StackTops, lower: Stacks): Stacks {
    const chained = below.map((stacks) => this.concat(stacks, lower));
    const all = this.#intern({ mayEnd: false, symbols, below: chained });
    return mayEnd ? this.union(all, lower) : all;
  }

  #concatCyclic(upper: Stacks, lower: Stacks): Stacks {
    const graph = new StackGraph();
    const nodes = new Map<Stacks, GraphNode>([[upper, graph.node()]]);
    for (const [stacks, node] of nodes) {
      const { mayEnd, symbols, below } = this.#tops[stacks];
      if (mayEnd) graph.add(node, [], lower);
      for (const [index, symbol] of symbols.entries()) {
        const to = nodes.get(below[index]) ?? graph.node();
        nodes.set(below[index], to);
        graph.add(node, [symbol], to);
      }
    }
    return this.ofGraph(graph, [nodes.get(upper) ?? noStacks]);
  }

  /**
   * Assigns numbers to the drafts of a strongly connected component. If one of them refers to a draft outside the
   * component, that draft must already have a number.
   */
  #number(cycle: readonly Draft[], numbers: Map<Draft, Stacks>): void {
    const places = new Map(cycle.map((draft, index) => [draft, memberAt(index)]));
    const numberOf = (to: Draft | Stacks): number =>
      isDraft(to) ? (places.get(to) ?? numbers.get(to) ?? noStacks) : to;
    const isCycle = cycle.length > 1 || cycle[0].below.includes(cycle[0]);
    const members = cycle.map((draft) => withBelow(draft, draft.below.map(numberOf)));
    const found = isCycle ? this.#numberCycle(members) : members.map((tops) => this.#intern(tops));
    for (const [index, draft] of cycle.entries()) numbers.set(draft, found[index]);
  }

  /** Returns the numbers of a cycle's members, some of which may be equal. */
  #numberCycle(members: readonly Member[]): readonly Stacks[] {
    // Members of this cycle may equal members of a known cycle to which they lead, so the members of both cycles are
    // compared.
    const led = new Set(members.flatMap(({ below }) => below));
    const beside = [...new Set([...led].flatMap((stacks) => this.#cycles.get(stacks) ?? []))];
    const places = new Map(beside.map((stacks, index) => [stacks, memberAt(members.length + index)]));
    const all = [...members, ...beside.map((stacks) => this.#tops[stacks])].map((tops) =>
      withBelow(
        tops,
        tops.below.map((to) => places.get(to) ?? to),
      ),
    );
    const classes = equivalenceClasses(all, (steps) => this.#budget.spend(steps));
    const known = new Map(beside.map((stacks, index) => [classes[members.length + index], stacks]));
    const own = [...new Set(classes.slice(0, members.length))];
    if (!known.has(own[0])) {
      const one = own.map((name) => members[classes.indexOf(name)]);
      const placed = one.map((tops) =>
        withBelow(
          tops,
          tops.below.map((to) => (isMember(to) ? memberAt(own.indexOf(classes[memberIndex(to)])) : to)),
        ),
      );
      for (const [index, stacks] of this.#internCycle(placed).entries()) known.set(own[index], stacks);
    }
    return members.map((_, index) => known.get(classes[index]) ?? noStacks);
  }

  /** Returns the numbers of a cycle's members, all of which must differ. */
  #internCycle(members: readonly Member[]): readonly Stacks[] {
    const { name, order } = canonicalCycle(members, 0);
    const known = this.#seen.get(name);
    if (known !== undefined) return members.map((_, index) => known[order.indexOf(index)]);
    const first = this.#tops.length;
    const cycle = members.map((_, index) => first + index);
    for (const member of members) {
      this.#budget.spend(1 + members.length);
      const below = member.below.map((to) => (isMember(to) ? first + memberIndex(to) : to));
      const stacks = this.#add(withBelow(member, below));
      this.#isCyclic[stacks] = true;
      this.#cycles.set(stacks, cycle);
      const seen = canonicalCycle(members, stacks - first);
      this.#seen.set(
        seen.name,
        seen.order.map((index) => first + index),
      );
    }
    return cycle;
  }

  #intern(tops: StackTops): Stacks {
    const known = this.#known.get(nameOf(tops));
    if (known !== undefined) return known;
    this.#budget.spend(1);
    return this.#add(tops);
  }

  #add(tops: StackTops): Stacks {
    const stacks = this.#tops.length;
    if (stacks >= this.#limits.states * 4) throw limitExceeded("states", this.#limits.states);
    this.#tops.push(tops);
    this.#known.set(nameOf(tops), stacks);
    this.#isCyclic.push(tops.below.some((below) => this.#isCyclic[below]));
    return stacks;
  }
}

/** Returns a key that does not depend on the order of the two sets. */
const keyOf = (one: Stacks, other: Stacks): number =>
  Math.min(one, other) * pairFactor + Math.max(one, other);

const isDraft = (one: Draft | Stacks): one is Draft => typeof one !== "number";

const nameOf = ({ mayEnd, symbols, below }: StackTops): string =>
  `${mayEnd ? "." : ""}${symbols.join(",")};${below.join(",")}`;

const withBelow = (
  { mayEnd, symbols }: Pick<StackTops, "mayEnd" | "symbols">,
  below: readonly number[],
): StackTops => ({ mayEnd, symbols, below });
