// A paged list, read item by item or page by page. Requests nothing before it is read.

interface PageAnswer<Item> {
  readonly data: readonly Item[];
  readonly last_id: string;
  readonly has_more: boolean;
}

/** `for await (const item of pages)` reads all items, requesting a page at a time. */
export class Pages<Item, Page extends PageAnswer<Item> = PageAnswer<Item>> implements AsyncIterable<Item> {
  readonly #read: (after: string | undefined) => Promise<Page>;

  /** @param read returns the page after an item, or the first page */
  constructor(read: (after: string | undefined) => Promise<Page>) {
    this.#read = read;
  }

  /** Returns the first page; its `last_id` is the `after` of the next one. */
  first(): Promise<Page> {
    return this.#read(undefined);
  }

  /** Yields every page; a page may be empty without being the last. */
  async *pages(): AsyncGenerator<Page> {
    for (let after: string | undefined; ;) {
      const page = await this.#read(after);
      yield page;
      // Without a last id, the list would start over.
      if (!page.has_more || page.last_id === "") return;
      after = page.last_id;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** Returns all items in one array, for lists known to be short. */
  async all(): Promise<readonly Item[]> {
    const items: Item[] = [];
    for await (const { data } of this.pages()) items.push(...data);
    return items;
  }
}
