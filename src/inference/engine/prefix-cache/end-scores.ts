// The scores after whole prompts, for those that come again to the last token, as the rollouts of one prompt do: they need
// no computation at all then. Of few prompts, since a row of scores is as large as some positions of keys and values.

/** Rollouts of more prompts than these seldom run beside each other. */
const promptCountMax = 64;

export class EndScores {
  /** By prompt, the least recently used first. */
  readonly #scores = new Map<string, Float32Array>();
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  find(scope: string, tokenIds: readonly number[]): Float32Array | null {
    const key = keyOf(scope, tokenIds);
    const scores_V = this.#scores.get(key);
    if (scores_V === undefined) return null;
    this.#scores.delete(key);
    this.#scores.set(key, scores_V);
    return scores_V;
  }

  /** @param scores_V copied */
  keep(scope: string, tokenIds: readonly number[], scores_V: Float32Array): void {
    const key = keyOf(scope, tokenIds);
    if (this.#scores.has(key)) return;
    this.#scores.set(key, scores_V.slice());
    this.#bytes += scores_V.byteLength;
    for (const [oldest, { byteLength }] of this.#scores) {
      if (this.#scores.size <= promptCountMax) break;
      this.#scores.delete(oldest);
      this.#bytes -= byteLength;
    }
  }

  clear(): void {
    this.#scores.clear();
    this.#bytes = 0;
  }
}

function keyOf(scope: string, tokenIds: readonly number[]): string {
  return `${scope} ${tokenIds.join(" ")}`;
}
