// Snapshots of the states after cached prefixes. Unlike keys and values, states exist only for the position at which
// they were saved, so a prefix can be reused only up to such a position. The least recently used snapshots are evicted
// first.

export class StateSnapshots {
  /** Snapshots by block and offset, the least recently used first. */
  readonly #snapshots = new Map<string, Float32Array>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** True if the states after `offset` positions of a block are saved. */
  has(block: number, offset: number): boolean {
    return this.#snapshots.has(keyOf(block, offset));
  }

  /** Returns the states after `offset` positions of a block, and marks the snapshot as used; null if there is none. */
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

  /** Drops all snapshots at positions of a block that has been evicted. */
  dropBlock(block: number): void {
    for (const key of this.#snapshots.keys()) if (key.startsWith(`${block} `)) this.#delete(key);
  }

  /** Evicts snapshots until the remaining ones fit this size in bytes. */
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
