// Cache of compiled constraints by their content, so that the next request with the same constraint begins immediately.
// Constraints in use are never evicted. When all constraints together take too much memory, unused ones are evicted,
// the least recently used first.
import { present } from "../../../base/domain/assert.ts";
import type { CompiledConstraint } from "../../../lib/constraints/grammar/matcher.ts";

export interface CacheCounts {
  /** Number of requests for a cached constraint (hits), and for one that had to be compiled (misses). */
  readonly hits: number;
  readonly misses: number;
  /** Size in bytes of all constraints that are cached or in use. */
  readonly bytes: number;
}

/** A compiled constraint that requests use. */
export interface CachedConstraint {
  readonly content: string;
  readonly compiled: CompiledConstraint;
}

export class ConstraintCache {
  readonly #bytesMax: number;
  /** Cached constraints by content, the most recently used last. */
  readonly #kept = new Map<string, CachedConstraint>();
  /** Number of users and size of every constraint that is cached or in use. */
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

  /**
   * Returns the constraint with this content, which `compile` creates if it is not cached. Counts one more user; throws
   * the errors of `compile`.
   */
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

  /** Subtracts one user of a constraint that {@link ConstraintCache.take} returned. */
  giveBack(constraint: CachedConstraint): void {
    const usage = this.#usageOf(constraint);
    usage.userCount -= 1;
    if (usage.userCount === 0 && this.#kept.get(constraint.content) !== constraint) this.#drop(constraint);
    this.#shrink();
  }

  /**
   * Removes a constraint from the cache; requests that use it can continue. The next request with the same content
   * compiles the constraint again.
   */
  forget(constraint: CachedConstraint): void {
    if (this.#kept.get(constraint.content) === constraint) this.#kept.delete(constraint.content);
  }

  /**
   * Measures the size of a constraint, which grows while the constraint is used. Evicts unused constraints if all
   * constraints together take too much memory.
   *
   * @returns false if the constraints in use still take too much memory and this constraint is the largest of them
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
