// Which adapters requests run on at this moment, or are about to: those are not deleted by themselves.

export class AdaptersInUse {
  /** How many requests each has. */
  readonly #counts = new Map<string, number>();

  /**
   * Counts a request in.
   *
   * @param id null for the base model, which needs no keeping
   * @returns what counts it out, once
   */
  enter(id: string | null): () => void {
    if (id === null) return () => undefined;
    this.#counts.set(id, (this.#counts.get(id) ?? 0) + 1);
    return () => {
      const left = (this.#counts.get(id) ?? 0) - 1;
      if (left > 0) this.#counts.set(id, left);
      else this.#counts.delete(id);
    };
  }

  ids(): Iterable<string> {
    return this.#counts.keys();
  }
}
