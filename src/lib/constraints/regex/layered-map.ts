// A map layered on top of another map, which it never modifies. Common entries are thus stored only once.

export class LayeredMap<Key, Value> {
  readonly #before: LayeredMap<Key, Value> | undefined;
  readonly #own = new Map<Key, Value>();

  constructor(before?: LayeredMap<Key, Value>) {
    this.#before = before;
  }

  /** Number of entries in this layer. */
  get ownSize(): number {
    return this.#own.size;
  }

  get size(): number {
    return this.#own.size + (this.#before?.size ?? 0);
  }

  get(key: Key): Value | undefined {
    return this.#own.get(key) ?? this.#before?.get(key);
  }

  /** Adds or replaces an entry in this layer. */
  set(key: Key, value: Value): void {
    this.#own.set(key, value);
  }
}
