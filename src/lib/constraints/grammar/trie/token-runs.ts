// A selection from the sorted token list, stored as runs of consecutive positions. A subtree of the trie is one run;
// tokens between runs are not selected.

export class TokenRuns {
  readonly #tokens: Int32Array;
  /** Start and exclusive end of each run, in ascending order. */
  readonly #bounds: number[] = [];
  #count = 0;

  constructor(tokens: Int32Array) {
    this.#tokens = tokens;
  }

  /** Number of selected tokens. */
  get count(): number {
    return this.#count;
  }

  /** Adds a range of positions (end exclusive). Callers add ranges in ascending order. */
  add(from: number, to: number): void {
    if (from === to) return;
    this.#count += to - from;
    const bounds = this.#bounds;
    if (bounds[bounds.length - 1] === from) bounds[bounds.length - 1] = to;
    else bounds.push(from, to);
  }

  /** Writes the ids of the selected tokens, starting at an index. */
  copyTo(into: Int32Array, index: number): void {
    let next = index;
    for (let run = 0; run < this.#bounds.length; run += 2) {
      const [from, to] = [this.#bounds[run], this.#bounds[run + 1]];
      into.set(this.#tokens.subarray(from, to), next);
      next += to - from;
    }
  }

  /** Sets the bits of the selected tokens. */
  setIn(bits: Uint32Array): void {
    const tokens = this.#tokens;
    for (let run = 0; run < this.#bounds.length; run += 2)
      for (let at = this.#bounds[run]; at < this.#bounds[run + 1]; at++)
        bits[tokens[at] >>> 5] |= 1 << (tokens[at] & 31);
  }

  /** Clears the bits of the listed tokens that are not selected. */
  clearOthers(bits: Uint32Array): void {
    const tokens = this.#tokens;
    let at = 0;
    for (let run = 0; run <= this.#bounds.length; run += 2) {
      const end = this.#bounds[run] ?? tokens.length;
      for (; at < end; at++) bits[tokens[at] >>> 5] &= ~(1 << (tokens[at] & 31));
      at = this.#bounds[run + 1];
    }
  }
}
