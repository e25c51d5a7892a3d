// How many requests each replica has been given lately, for the choice among them. By requests and not by time, so that it
// says the same of a fleet that has much to do and of one that has little.

/** What the counts come to on average; a request counts half once there were 0.7 times as many for each replica after it. */
const windowCount = 512;

export class RecentRequests<Replica extends object> {
  readonly #counts: Map<Replica, number>;

  constructor(replicas: readonly Replica[]) {
    this.#counts = new Map(replicas.map((replica) => [replica, 0]));
  }

  /** Those that it was given, the last one as 1 and the ones before ever less. */
  countOf(replica: Replica): number {
    return this.#counts.get(replica) ?? 0;
  }

  /** It was given one. */
  add(replica: Replica): void {
    const kept = 1 - 1 / (windowCount * this.#counts.size);
    for (const [each, count] of this.#counts) this.#counts.set(each, kept * count);
    this.#counts.set(replica, this.countOf(replica) + 1);
  }

  /**
   * One is there again: it begins with what the others have on average. Else all of their prompts would go to it, of which
   * it knows none, until it had caught up.
   */
  join(replica: Replica, others: readonly Replica[]): void {
    if (others.length === 0) return;
    const sum = others.reduce((total, other) => total + this.countOf(other), 0);
    this.#counts.set(replica, sum / others.length);
  }
}
