// Counts the requests sent to each replica, as a basis for choosing one; older requests count less. The counts decay
// with each request, not with time, so that a count means the same in a busy and in an idle fleet.

/**
 * Average value of a replica's count. After 0.7 times this number of later requests per replica, a request counts only
 * half.
 */
const windowCount = 512;

/**
 * Maximum value of the unit in which requests are counted. When the unit reaches it, all counts are divided by the
 * unit, long before they overflow.
 */
const unitMax = 1e100;

export class RecentRequests<Replica extends object> {
  /**
   * Count of each replica, as a multiple of a growing unit; each new request adds one unit. Letting the unit grow has
   * the same effect as letting all earlier counts shrink.
   */
  readonly #counts: Map<Replica, number>;
  #unit = 1;

  constructor(replicas: readonly Replica[]) {
    this.#counts = new Map(replicas.map((replica) => [replica, 0]));
  }

  /** Returns the decayed number of a replica's requests. The latest request counts 1. */
  countOf(replica: Replica): number {
    return (this.#counts.get(replica) ?? 0) / this.#unit;
  }

  /** Counts a request given to a replica. */
  add(replica: Replica): void {
    this.#unit /= 1 - 1 / (windowCount * this.#counts.size);
    this.#counts.set(replica, (this.#counts.get(replica) ?? 0) + this.#unit);
    if (this.#unit < unitMax) return;
    for (const [each, count] of this.#counts) this.#counts.set(each, count / this.#unit);
    this.#unit = 1;
  }

  /**
   * Sets the count of a returning replica to the average of the other replicas. If its count were lower, the replica
   * would get prompts of all other replicas, although its cache has none of them.
   */
  join(replica: Replica, others: readonly Replica[]): void {
    if (others.length === 0) return;
    const sum = others.reduce((total, other) => total + (this.#counts.get(other) ?? 0), 0);
    this.#counts.set(replica, sum / others.length);
  }
}
