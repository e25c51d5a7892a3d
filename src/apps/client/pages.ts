// A list that comes in pages: its items one by one, or page by page. Nothing is asked for before somebody reads.

interface PageAnswer<Item> {
  readonly data: readonly Item[];
  readonly last_id: string;
  readonly has_more: boolean;
}

/** `for await (const item of pages)` reads all of them, a page at a time. */
export class Pages<Item, Page extends PageAnswer<Item> = PageAnswer<Item>> implements AsyncIterable<Item> {
  readonly #read: (after: string | undefined) => Promise<Page>;

  /** @param read the page behind an item, or the first one */
  constructor(read: (after: string | undefined) => Promise<Page>) {
    this.#read = read;
  }

  /** The first page, with `last_id` to go on behind it. */
  first(): Promise<Page> {
    return this.#read(undefined);
  }

  /** Every page; one may be empty and yet not the last. */
  async *pages(): AsyncGenerator<Page> {
    for (let after: string | undefined; ;) {
      const page = await this.#read(after);
      yield page;
      // Without a place to go on from it would begin anew.
      if (!page.has_more || page.last_id === "") return;
      after = page.last_id;
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item> {
    for await (const { data } of this.pages()) yield* data;
  }

  /** All of them at once, for lists that are known to be short. */
  async all(): Promise<readonly Item[]> {
    const items: Item[] = [];
    for await (const { data } of this.pages()) items.push(...data);
    return items;
  }
}
