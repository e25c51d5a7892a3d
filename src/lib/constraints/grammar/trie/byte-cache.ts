// A map with a size limit in bytes. When an added entry makes the map exceed the limit, it evicts its oldest entries.

export class ByteCache<Key, Value> {
  readonly #limit: number;
  readonly #entries = new Map<Key, { readonly value: Value; readonly byteLength: number }>();
  #byteLength = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get byteLength(): number {
    return this.#byteLength;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key)?.value;
  }

  set(key: Key, value: Value, byteLength: number): void {
    this.#entries.set(key, { value, byteLength });
    this.#byteLength += byteLength;
    for (const [oldest, entry] of this.#entries) {
      if (this.#byteLength <= this.#limit) return;
      this.#entries.delete(oldest);
      this.#byteLength -= entry.byteLength;
    }
  }
}
