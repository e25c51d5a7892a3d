// How many requests each replica has been given lately, for the choice among them. By requests and not by time, so that it
// says the same of a fleet that has much to do and of one that has little.

/** What the counts come to on average; a request counts half once there were 0.7 times as many for each replica after it. */
const windowCount = 512;

/** From then on all are divided by it, long before numbers have no room for it. */
const unitMax = 1e100;

export class RecentRequests<Replica extends object> {
  /** In units of the last request, which counts ever more in place of the others' counting ever less. */
  readonly #counts: Map<Replica, number>;
  #unit = 1;

  constructor(replicas: readonly Replica[]) {
    this.#counts = new Map(replicas.map((replica) => [replica, 0]));
  }

  /** Those that it was given, the last one as 1 and the ones before ever less. */
  countOf(replica: Replica): number {
    return (this.#counts.get(replica) ?? 0) / this.#unit;
  }

  /** It was given one. */
  add(replica: Replica): void {
    this.#unit /= 1 - 1 / (windowCount * this.#counts.size);
    this.#counts.set(replica, (this.#counts.get(replica) ?? 0) + this.#unit);
    if (this.#unit < unitMax) return;
    for (const [each, count] of this.#counts) this.#counts.set(each, count / this.#unit);
    this.#unit = 1;
  }

  /**
   * One is there again: it begins with what the others have on average. Else all of their prompts would go to it, of which
   * it knows none, until it had caught up.
   */
  join(replica: Replica, others: readonly Replica[]): void {
    if (others.length === 0) return;
    const sum = others.reduce((total, other) => total + (this.#counts.get(other) ?? 0), 0);
    this.#counts.set(replica, sum / others.length);
  }
}
