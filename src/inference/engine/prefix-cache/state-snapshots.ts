// Snapshots of sequences' states after cached prefixes. Unlike keys and values, a state cannot be cut: a prefix can be
// reused only up to a position whose state was saved. Snapshots are evicted least recently used first.

export class StateSnapshots {
  /** Snapshots by their position, the least recently used first. */
  readonly #snapshots = new Map<string, Float32Array>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** True if the state after `offset` positions of a block is saved. */
  has(block: number, offset: number): boolean {
    return this.#snapshots.has(keyOf(block, offset));
  }

  /** Returns the state after `offset` positions of a block, and marks it as used; null if it is not saved. */
  find(block: number, offset: number): Float32Array | null {
    const key = keyOf(block, offset);
    const states = this.#snapshots.get(key);
    if (states === undefined) return null;
    this.#snapshots.delete(key);
    this.#snapshots.set(key, states);
    return states;
  }

  save(block: number, offset: number, states: Float32Array): void {
    this.#delete(keyOf(block, offset));
    this.#snapshots.set(keyOf(block, offset), states);
    this.#bytes += states.byteLength;
  }

  /** Drops the snapshots after positions of a block, which has been evicted. */
  dropBlock(block: number): void {
    for (const key of this.#snapshots.keys()) if (key.startsWith(`${block} `)) this.#delete(key);
  }

  /** Evicts snapshots until the rest fit this size. */
  limit(bytesMax: number): void {
    for (const key of this.#snapshots.keys()) {
      if (this.#bytes <= bytesMax) break;
      this.#delete(key);
    }
  }

  #delete(key: string): void {
    this.#bytes -= this.#snapshots.get(key)?.byteLength ?? 0;
    this.#snapshots.delete(key);
  }
}

function keyOf(block: number, offset: number): string {
  return `${block} ${offset}`;
}
