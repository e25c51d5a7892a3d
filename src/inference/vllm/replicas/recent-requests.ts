// Exponentially decaying count of the requests given to each replica, with which replicas are chosen. Decays with each
// request instead of with time, so that a count means the same in a busy and in an idle fleet.

/**
 * Average value of a replica's count; a request's weight halves after 0.7 times this number of later requests per
 * replica.
 */
const windowCount = 512;

/** Maximum unit: beyond it, all counts are divided by the unit, long before they overflow. */
const unitMax = 1e100;

export class RecentRequests<Replica extends object> {
  /**
   * Count of each replica, in a growing unit in which the latest request weighs 1. The unit grows at each request,
   * instead of all other counts shrinking.
   */
  readonly #counts: Map<Replica, number>;
  #unit = 1;

  constructor(replicas: readonly Replica[]) {
    this.#counts = new Map(replicas.map((replica) => [replica, 0]));
  }

  /** Returns the decayed count of its requests, where the latest counts 1. */
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
   * Starts a returning replica at the others' average count. Otherwise the replica would receive all of their prompts,
   * none of which it has cached, until its count had caught up.
   */
  join(replica: Replica, others: readonly Replica[]): void {
    if (others.length === 0) return;
    const sum = others.reduce((total, other) => total + (this.#counts.get(other) ?? 0), 0);
    this.#counts.set(replica, sum / others.length);
  }
}
