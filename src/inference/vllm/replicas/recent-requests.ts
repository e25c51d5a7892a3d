// Counts the requests sent to each replica, where older requests count less; the counts serve to choose replicas. The
// counts decay with each request, not with time, so that a count means the same in a busy and in an idle fleet.

/**
 * Average value of a replica's count. A request counts half after 0.7 times this number of later requests per replica.
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
   * Sets the count of a returning replica to the average of the other replicas. With a lower count, it would get
   * prompts of all other replicas, none of which it has in its cache, until its count had caught up.
   */
  join(replica: Replica, others: readonly Replica[]): void {
    if (others.length === 0) return;
    const sum = others.reduce((total, other) => total + (this.#counts.get(other) ?? 0), 0);
    this.#counts.set(replica, sum / others.length);
  }
}
