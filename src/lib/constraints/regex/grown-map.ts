// A map that goes on from another, which is then left as it is: what many have in common is held once.

export class GrownMap<Key, Value> {
  readonly #before: GrownMap<Key, Value> | undefined;
  readonly #own = new Map<Key, Value>();

  constructor(before?: GrownMap<Key, Value>) {
    this.#before = before;
  }

  /** How many entries it has beyond those that it goes on from. */
  get ownSize(): number {
    return this.#own.size;
  }

  get size(): number {
    return this.#own.size + (this.#before?.size ?? 0);
  }

  get(key: Key): Value | undefined {
    return this.#own.get(key) ?? this.#before?.get(key);
  }

  /** Adds an entry, or changes one of its own. */
  set(key: Key, value: Value): void {
    this.#own.set(key, value);
  }
}
