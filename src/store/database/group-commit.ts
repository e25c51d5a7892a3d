// Small writes that come at the same time share a transaction, and so the time that a disk takes to keep one; lookups that
// come at the same time share a query. What comes while one is carried out waits for the next, and sees all that was there
// when it came. Nobody waits for others to come. Knows nothing of what is written or looked for.

/** What became of one of a group: an error is its own, and the others' are written. */
export type Outcome<Result> = { readonly result: Result } | { readonly error: unknown };

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export interface GroupCommitOptions<Item, Result> {
  /**
   * Writes a group in one transaction, in its order, and resolves once it is on disk, or looks all up; with an outcome for
   * each. Where it rejects nothing is written.
   */
  readonly carryOut: (items: readonly Item[]) => Promise<readonly Outcome<Result>[]>;
  /** Most items of a group. */
  readonly itemsMax: number;
  /** A group that has so much is closed; a single item may have more. */
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

  /** Resolves with what became of the item. */
  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (!this.#isBusy) void this.#carryOutAll();
    });
  }

  async #carryOutAll(): Promise<void> {
    this.#isBusy = true;
    // Those that come in the same turn go together.
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
      // What one of them brought about is not the others' fault.
      if (group.length === 1) group[0].reject(error);
      else for (const one of group) await this.#carryOut([one]);
    }
  }
}
