// A paged list, read by item or by page. Sends no request until it is read.

interface PageAnswer<Item> {
  readonly data: readonly Item[];
  readonly last_id: string;
  readonly has_more: boolean;
}

/** A paged list. `for await (const item of pages)` reads all items and requests one page at a time. */
export class Pages<Item, Page extends PageAnswer<Item> = PageAnswer<Item>> implements AsyncIterable<Item> {
  readonly #read: (after: string | undefined) => Promise<Page>;

  /** @param read returns the page after the item with this id; the first page if undefined */
  constructor(read: (after: string | undefined) => Promise<Page>) {
    this.#read = read;
  }

  /** Returns the first page; its `last_id` is the `after` value for the next page. */
  first(): Promise<Page> {
    return this.#read(undefined);
  }

  /** Yields every page. An empty page is not necessarily the last. */
  async *pages(): AsyncGenerator<Page> {
    for (let after: string | undefined; ;) {
      const page = await this.#read(after);
      yield page;
      // Requesting a page after an empty id would start over at the first page.
      if (!page.has_more || page.last_id === "") return;
      after = page.last_id;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** Returns all items as one array; intended for lists that are known to be short. */
  async all(): Promise<readonly Item[]> {
    const items: Item[] = [];
    for await (const { data } of this.pages()) items.push(...data);
    return items;
  }
}
