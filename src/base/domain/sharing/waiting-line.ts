// Who waits for a worker, and whose turn is next: clients take turns, and each client's own go in the order they came.
// So one client's many wait for each other, and another's one does not wait for them.

export class WaitingLine<Item> {
  /** Whose turn is next comes first; no list is empty. */
  readonly #itemsOf = new Map<string, Item[]>();
  #length = 0;

  get length(): number {
    return this.#length;
  }

  add(client: string, item: Item): void {
    const items = this.#itemsOf.get(client);
    if (items === undefined) this.#itemsOf.set(client, [item]);
    else items.push(item);
    this.#length += 1;
  }

  /** Takes out the next; its client's turn comes again after everybody else's. */
  takeNext(): Item | undefined {
    for (const [client, items] of this.#itemsOf) {
      this.#itemsOf.delete(client);
      const item = items.shift();
      if (items.length > 0) this.#itemsOf.set(client, items);
      this.#length -= 1;
      return item;
    }
    return undefined;
  }

  /** Takes out one that no longer waits for its turn; nothing where it is not there. */
  remove(client: string, item: Item): void {
    const items = this.#itemsOf.get(client) ?? [];
    const index = items.indexOf(item);
    if (index < 0) return;
    items.splice(index, 1);
    if (items.length === 0) this.#itemsOf.delete(client);
    this.#length -= 1;
  }
}
