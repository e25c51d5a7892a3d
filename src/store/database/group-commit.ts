// Group commit: concurrent small writes share a transaction and its disk flush, and concurrent lookups share a query.
// Items that arrive while a group is written form the next group; a group never waits for further items. Works for any
// kind of item.

/** Result of one item in a group. An error concerns only that item; the other items are written. */
export type Outcome<Result> = { readonly result: Result } | { readonly error: unknown };

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Item, Result> {
  /**
   * Writes a group in one transaction, in order, and resolves once it is on disk. For lookups, reads all items with one
   * query. Returns the outcome of each item; if it rejects, nothing was written.
   */
  readonly carryOut: (items: readonly Item[]) => Promise<readonly Outcome<Result>[]>;
  /** Maximum number of items in a group. */
  readonly itemsMax: number;
  /** Total length of the items at which a group is full. A group with a single item may be longer. */
  readonly lengthMax: number;
  readonly lengthOf: (item: Item) => number;
}

export class GroupCommit<Item, Result> {
  readonly #options: GroupCommitOptions<Item, Result>;
  #waiting: Waiting<Item, Result>[] = [];
  #isBusy = false;

  constructor(options: GroupCommitOptions<Item, Result>) {
    this.#options = options;
  }

  /** Adds an item to the next group. Resolves with the item's result. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isBusy) void this.#carryOutAll();
    });
  }

  async #carryOutAll(): Promise<void> {
    this.#isBusy = true;
    // Waits for one microtask, so that items that are added in the same iteration of the event loop share a group.
    await Promise.resolve();
    while (this.#waiting.length > 0) await this.#carryOut(this.#takeGroup());
    this.#isBusy = false;
  }

  #takeGroup(): readonly Waiting<Item, Result>[] {
    const { itemsMax, lengthMax, lengthOf } = this.#options;
    let length = 0;
    let count = 0;
    for (const { item } of this.#waiting) {
      if (count === itemsMax || length >= lengthMax) break;
      length += lengthOf(item);
      count += 1;
    }
    return this.#waiting.splice(0, count);
  }

  async #carryOut(group: readonly Waiting<Item, Result>[]): Promise<void> {
    try {
      const outcomes = await this.#options.carryOut(group.map(({ item }) => item));
      for (const [index, { resolve, reject }] of group.entries()) {
        const outcome = outcomes[index];
        if ("error" in outcome) reject(outcome.error);
        else resolve(outcome.result);
      }
    } catch (error) {
      // Retries each item by itself, so that one failing item does not fail the others.
      if (group.length === 1) group[0].reject(error);
      else for (const one of group) await this.#carryOut([one]);
    }
  }
}
