// Divides the rows of a prefix tree into groups, so that as few tokens as possible must be computed. Attention supports
// one prefix per group. A group's prefix is therefore one path down the tree, and each of its rows branches off that
// path at some node.

/** Tree of rows (lists of tokens) by their common prefixes. Each leaf is one row. */
export interface RowTree<Row> {
  /** The row of this leaf; null for an inner node. */
  readonly row: Row | null;
  /** Number of tokens that all rows below this node share. For a leaf, the length of its row. */
  readonly depth: number;
  /** Total number of tokens in all rows below this node, as if they shared none. */
  readonly tokenCount: number;
  readonly children: readonly RowTree<Row>[];
}

/** A row, and the number of tokens after which it branches off its group's prefix; 0 for a row that is in no group. */
export interface CoveredRow<Row> {
  readonly row: Row;
  readonly prefixLength: number;
}

/**
 * Divides the rows of a tree into groups with one prefix each.
 *
 * @param savedShareMin minimum share of the tokens below a node that a group must save if it starts at the node
 */
export function coverRows<Row>(
  tree: RowTree<Row>,
  savedShareMin: number,
): readonly (readonly CoveredRow<Row>[])[] {
  const { rows, groups } = new Cover<Row>(savedShareMin).leaving(tree, 0);
  return [...groups, ...rows.map((each) => [each])];
}

/**
 * A division of the rows below a node. `rows` branch off a path that ends above the node; the other rows are in
 * `groups`.
 */
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

  /** Divides the rows below a node. A row can form a group with others, or branch off a path after `depth` tokens. */
  leaving(node: RowTree<Row>, depth: number): Leaving<Row> {
    if (node.row !== null) return { rows: [{ row: node.row, prefixLength: depth }], groups: [] };
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    if (this.#isGroup(node, apartCount)) return { rows: [], groups: this.#groupsFrom(node) };
    return joined(node.children.map((child) => this.leaving(child, depth)));
  }

  /**
   * Returns first the group whose path runs from the root through this node, then the groups of the rows that do not
   * join this path.
   */
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

  /** Returns the number of tokens to compute below a node if `leaving` divides its rows. */
  #countLeaving(node: RowTree<Row>, depth: number): number {
    if (node.row !== null) return node.depth - depth;
    const apartCount = sum(node.children, (child) => this.#countLeaving(child, depth));
    return this.#isGroup(node, apartCount) ? this.#ownCount(node) : apartCount;
  }

  /**
   * True if the rows below a node should form a group of their own: it needs fewer computed tokens than `apartCount`,
   * and saves at least the minimum share.
   */
  #isGroup(node: RowTree<Row>, apartCount: number): boolean {
    if (node.depth === 0) return false;
    const count = this.#ownCount(node);
    return count < apartCount && count <= (1 - this.#savedShareMin) * node.tokenCount;
  }

  #ownCount(node: RowTree<Row>): number {
    return node.depth + this.#pathFrom(node).count;
  }

  /**
   * For a node on a path, returns the number of tokens computed below the node, and the next node of the path. That
   * node is null if the path ends here.
   */
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
