// Finds the cheapest groups for a tree of prefixes, if attention knows one prefix per group. Each group has a path
// down from the root, computed once, and rows that leave the path at its nodes. The chosen groups compute the fewest
// tokens.

/** Rows by their common prefixes; a leaf is one row. */
export interface RowTree<Row> {
  /** Null except in leaves. */
  readonly row: Row | null;
  /** Number of tokens that all rows below share; in a leaf, all its tokens. */
  readonly depth: number;
  /** Number of tokens of all rows below, without sharing. */
  readonly tokenCount: number;
  readonly children: readonly RowTree<Row>[];
}

/** A row with the number of tokens after which it leaves its group's path; 0 for a single row. */
export interface CoveredRow<Row> {
  readonly row: Row;
  readonly prefixLength: number;
}

/**
 * Splits the rows of a tree into groups.
 *
 * @param savedShareMin minimum share of the tokens below a node that a group from there has to save
 */
export function coverRows<Row>(
  tree: RowTree<Row>,
  savedShareMin: number,
): readonly (readonly CoveredRow<Row>[])[] {
  const { rows, groups } = new Cover<Row>(savedShareMin).leaving(tree, 0);
  return [...groups, ...rows.map((each) => [each])];
}

/** Computation of the rows below a node: some leave the path to it, the others form separate groups. */
interface Leaving<Row> {
  readonly rows: readonly CoveredRow<Row>[];
  readonly groups: readonly (readonly CoveredRow<Row>[])[];
}

class Cover<Row> {
  readonly #savedShareMin: number;
  readonly #onward = new Map<RowTree<Row>, { readonly count: number; readonly next: RowTree<Row> | null }>();

  constructor(savedShareMin: number) {
    this.#savedShareMin = savedShareMin;
  }

  /** Returns the computation of the rows below a node, if a path can be left after `depth` tokens. */
  leaving(node: RowTree<Row>, depth: number): Leaving<Row> {
    if (node.row !== null) return { rows: [{ row: node.row, prefixLength: depth }], groups: [] };
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    if (this.#isGroup(node, apartCount)) return { rows: [], groups: this.#groupsFrom(node) };
    return joined(node.children.map((child) => this.leaving(child, depth)));
  }

  /** Returns the group whose path runs through the node, followed by the groups next to it. */
  #groupsFrom(node: RowTree<Row>): Leaving<Row>["groups"] {
    const parts: Leaving<Row>[] = [];
    for (let at: RowTree<Row> | null = node; at !== null; at = this.#pathFrom(at).next) {
      const { depth, children } = at;
      const { next } = this.#pathFrom(at);
      for (const child of children) if (child !== next) parts.push(this.leaving(child, depth));
    }
    const { rows, groups } = joined(parts);
    return [rows, ...groups];
  }

  /** Returns the number of tokens computed below a node if a path can be left after `depth` tokens. */
  #countLeaving(node: RowTree<Row>, depth: number): number {
    if (node.row !== null) return node.depth - depth;
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    return this.#isGroup(node, apartCount) ? this.#ownCount(node) : apartCount;
  }

  /** True if the rows below a node, with a separate path, compute fewer tokens than `apartCount` and save enough. */
  #isGroup(node: RowTree<Row>, apartCount: number): boolean {
    if (node.depth === 0) return false;
    const count = this.#ownCount(node);
    return count < apartCount && count <= (1 - this.#savedShareMin) * node.tokenCount;
  }

  #ownCount(node: RowTree<Row>): number {
    return node.depth + this.#pathFrom(node).count;
  }

  /** Returns the number of tokens computed below a node on a path, and the path's next node; null at its end. */
  #pathFrom(node: RowTree<Row>): { readonly count: number; readonly next: RowTree<Row> | null } {
    const known = this.#onward.get(node);
    if (known !== undefined) return known;
    const leaving = new Map(node.children.map((child) => [child, this.#countLeaving(child, node.depth)]));
    const all = sum(node.children, (child) => leaving.get(child) ?? 0);
    let best: { count: number; next: RowTree<Row> | null } = { count: all, next: null };
    for (const child of node.children) {
      if (child.row !== null) continue;
      const more = child.depth - node.depth + this.#pathFrom(child).count;
      const count = all - (leaving.get(child) ?? 0) + more;
      if (count < best.count) best = { count, next: child };
    }
    this.#onward.set(node, best);
    return best;
  }
}

function joined<Row>(parts: readonly Leaving<Row>[]): Leaving<Row> {
  return { rows: parts.flatMap(({ rows }) => rows), groups: parts.flatMap(({ groups }) => groups) };
}

function sum<Item>(items: readonly Item[], value: (item: Item) => number): number {
  return items.reduce((total, item) => total + value(item), 0);
}
