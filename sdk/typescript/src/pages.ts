/** Lists of the library, which are fetched page by page. */

import { callLibrary, type LibraryPage } from "./library-frame.js";
import type { LibraryMethod } from "./responses.js";
import type { Transport } from "./transport.js";

/** The items of a list. Iterating fetches page after page; nothing is requested before that. */
export class Pages<Item, Page> implements AsyncIterable<Item> {
  readonly #transport: Transport;
  readonly #method: LibraryMethod;
  readonly #items: string;
  readonly #options: object;

  /** @internal `Library` creates these. `items` is the field of the answer that has the items. */
  constructor(transport: Transport, method: LibraryMethod, items: string, options: object) {
    this.#transport = transport;
    this.#method = method;
    this.#items = items;
    this.#options = options;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const page of this.pages()) yield* this.#itemsOf(page);
  }

  /** The pages. `limit` is the number of items on each. */
  async *pages(): AsyncGenerator<LibraryPage<Page>, void, undefined> {
    let page = await this.page();
    yield page;
    while (page.next_cursor !== null) {
      page = await this.#fetch({ cursor: page.next_cursor });
      yield page;
    }
  }

  /** The first page, with its facets, warnings, total and cursor. */
  page(): Promise<LibraryPage<Page>> {
    return this.#fetch({});
  }

  /** All items. */
  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }

  /** The first item; undefined if there is none. */
  async first(): Promise<Item | undefined> {
    return this.#itemsOf(await this.#fetch({ limit: 1 }))[0];
  }

  /** The number of items on all pages; null if the server does not know it. */
  async total(): Promise<number | null> {
    return (await this.#fetch({ limit: 1 })).total_count;
  }

  #itemsOf(page: LibraryPage<Page>): Item[] {
    return (page as unknown as Record<string, Item[]>)[this.#items] ?? [];
  }

  async #fetch(changes: object): Promise<LibraryPage<Page>> {
    const page = await callLibrary<Page>(this.#transport, this.#method, { ...this.#options, ...changes });
    return { next_cursor: null, total_count: null, ...page } as LibraryPage<Page>;
  }
}
