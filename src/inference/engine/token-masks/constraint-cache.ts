// Compiled constraints by their content, so that the next request with the same one begins at once. Those in use stay;
// of the others the least recently used go first when all together take too much memory.
import { present } from "../../../base/domain/assert.ts";
import type { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";

export interface CacheCounts {
  /** Requests for a constraint that was there, and for one that had to be compiled. */
  readonly hits: number;
  readonly misses: number;
  /** What all constraints take that are kept or in use. */
  readonly bytes: number;
}

/** A constraint that requests use. */
export interface CachedConstraint {
  readonly content: string;
  readonly compiled: CompiledConstraint;
}

export class ConstraintCache {
  readonly #bytesMax: number;
  /** What the next request with the same content gets; the last used last. */
  readonly #kept = new Map<string, CachedConstraint>();
  /** Everything that is kept or in use. */
  readonly #usage = new Map<CachedConstraint, { userCount: number; bytes: number }>();
  #hits = 0;
  #misses = 0;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get counts(): CacheCounts {
    return { hits: this.#hits, misses: this.#misses, bytes: this.#bytes };
  }

  /** The constraint of this content for one more user; throws what `compile` throws. */
  take(content: string, compile: () => CompiledConstraint): CachedConstraint {
    const known = this.#kept.get(content);
    if (known === undefined) this.#misses += 1;
    else this.#hits += 1;
    const constraint = known ?? { content, compiled: compile() };
    const { userCount, bytes } = this.#usage.get(constraint) ?? { userCount: 0, bytes: 0 };
    this.#usage.set(constraint, { userCount: userCount + 1, bytes });
    this.#kept.delete(content);
    this.#kept.set(content, constraint);
    this.measure(constraint);
    return constraint;
  }

  /** Gives one up that was taken. */
  giveBack(constraint: CachedConstraint): void {
    const usage = this.#usageOf(constraint);
    usage.userCount -= 1;
    if (usage.userCount === 0 && this.#kept.get(constraint.content) !== constraint) this.#drop(constraint);
    this.#shrink();
  }

  /** Leaves it to those who use it: the next request with the same content begins anew. */
  forget(constraint: CachedConstraint): void {
    if (this.#kept.get(constraint.content) === constraint) this.#kept.delete(constraint.content);
  }

  /**
   * Counts what a constraint takes by now: it grows while it is followed.
   *
   * @returns false for the largest one where there is not room for all that are in use
   */
  measure(constraint: CachedConstraint): boolean {
    const usage = this.#usageOf(constraint);
    const { byteLength } = constraint.compiled;
    this.#bytes += byteLength - usage.bytes;
    usage.bytes = byteLength;
    this.#shrink();
    if (this.#bytes <= this.#bytesMax) return true;
    return [...this.#usage.values()].some(({ bytes }) => bytes > byteLength);
  }

  #shrink(): void {
    for (const constraint of this.#kept.values()) {
      if (this.#bytes <= this.#bytesMax) return;
      if (this.#usageOf(constraint).userCount > 0) continue;
      this.forget(constraint);
      this.#drop(constraint);
    }
  }

  #drop(constraint: CachedConstraint): void {
    this.#bytes -= this.#usageOf(constraint).bytes;
    this.#usage.delete(constraint);
  }

  #usageOf(constraint: CachedConstraint) {
    return present(this.#usage.get(constraint), "a constraint that is kept or in use");
  }
}
