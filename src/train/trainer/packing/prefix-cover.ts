// The cheapest way to compute the rows of a tree of prefixes where attention knows one prefix per group: each group has a
// path down from the root, computed once, and rows that leave the path at its nodes. Of all ways this is the one that
// computes the fewest tokens.

/** Rows that begin alike, by how much of it: a leaf is one row. */
export interface RowTree<Row> {
  /** Null but in leaves. */
  readonly row: Row | null;
  /** How many tokens all rows below have in common; all of them in a leaf. */
  readonly depth: number;
  /** Of all rows below, as if nothing were shared. */
  readonly tokenCount: number;
  readonly children: readonly RowTree<Row>[];
}

/** A row that leaves its group's path behind so many tokens; 0 where it is alone. */
export interface CoveredRow<Row> {
  readonly row: Row;
  readonly prefixLength: number;
}

/**
 * Splits the rows of a tree into groups.
 *
 * @param savedShareMin the part of the tokens below a node that a group from there has to save
 */
export function coverRows<Row>(
  tree: RowTree<Row>,
  savedShareMin: number,
): readonly (readonly CoveredRow<Row>[])[] {
  const { rows, groups } = new Cover<Row>(savedShareMin).leaving(tree, 0);
  return [...groups, ...rows.map((each) => [each])];
}

/** How rows below a node are computed: some leave the path that leads to it, the others are groups of their own. */
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

  /** The rows below a node where a path can be left behind `depth` tokens. */
  leaving(node: RowTree<Row>, depth: number): Leaving<Row> {
    if (node.row !== null) return { rows: [{ row: node.row, prefixLength: depth }], groups: [] };
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    if (this.#isGroup(node, apartCount)) return { rows: [], groups: this.#groupsFrom(node) };
    return joined(node.children.map((child) => this.leaving(child, depth)));
  }

  /** A group whose path leads through the node, first, and those that are beside it. */
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

  /** The tokens computed below a node where a path can be left behind `depth` tokens. */
  #countLeaving(node: RowTree<Row>, depth: number): number {
    if (node.row !== null) return node.depth - depth;
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    return this.#isGroup(node, apartCount) ? this.#ownCount(node) : apartCount;
  }

  /** Whether the rows below a node compute fewer tokens behind a path of their own than `apartCount`, and few enough. */
  #isGroup(node: RowTree<Row>, apartCount: number): boolean {
    if (node.depth === 0) return false;
    const count = this.#ownCount(node);
    return count < apartCount && count <= (1 - this.#savedShareMin) * node.tokenCount;
  }

  #ownCount(node: RowTree<Row>): number {
    return node.depth + this.#pathFrom(node).count;
  }

  /** The tokens computed below a node that a path leads to, and where it leads on; null where it ends. */
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
