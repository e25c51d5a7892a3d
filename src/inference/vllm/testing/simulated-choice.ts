// Simulates how several Hone servers choose among many replicas, when each Hone server knows only its own requests.
// Runs in virtual time without HTTP, with recorded latencies of vLLM. A dying replica breaks off its answers and is
// detected by probes and failed requests; a Hone server uses it again after its next probe.
import { seededRandom } from "../../../base/domain/random.ts";
import { chooseReplica, hashAddress } from "../replicas/choose-replica.ts";
import { RecentRequests } from "../replicas/recent-requests.ts";
import { FleetShares, type FleetFigures } from "./fleet-shares.ts";
import { recordedLatencies } from "./recorded-latencies.ts";

export interface ChoiceLoad {
  readonly replicaCount: number;
  /** Number of Hone servers. Each gets an equal part of the requests. */
  readonly chooserCount: number;
  readonly requestCount: number;
  /** Number of concurrent requests. */
  readonly concurrency: number;
  readonly promptCount: number;
  readonly tokenCount: number;
  readonly deaths: {
    /** Number of requests between deaths of a replica; null for never. */
    readonly everyCount: number | null;
    readonly forMs: number;
    readonly lookMs: number;
  };
  readonly seed: number;
}

export interface ChoiceReport extends FleetFigures {
  /**
   * Number of lost requests. A request is lost if its replica dies after the request has begun, or if it tried three
   * replicas that were all dead.
   */
  readonly lostCount: number;
  /** Number of requests per second of virtual time. */
  readonly perSecond: number;
}

/** The knowledge that one Hone server has of a replica. */
interface Known {
  readonly replica: number;
  readonly hash: number;
  runningCount: number;
  failureCount: number;
  isReady: boolean;
}

/** Same values as in `replica.ts` and `remote-engine.ts`. */
const failuresMax = 3;
const triesMax = 3;

/**
 * Runs a simulation.
 *
 * @returns figures, which are always the same for the same load
 */
export function simulateChoice(load: ChoiceLoad): ChoiceReport {
  const random = seededRandom("choice", load.seed);
  const urls = Array.from({ length: load.replicaCount }, (_, replica) => `http://replica-${replica}:8000`);
  const world = new World();
  const shares = new FleetShares(urls);
  const choosers = Array.from({ length: load.chooserCount }, () => new Chooser(urls));
  const latencies = recordedLatencies(random);
  const prefixes = Array.from({ length: load.promptCount }, () => random.index(2 ** 32));
  const dead = new Set<number>();
  /** Number of deaths of each replica. A request that began before a death of its replica is not answered. */
  const deathCounts = urls.map(() => 0);
  let wellReplicas: readonly number[] = urls.map((_url, replica) => replica);
  let begunCount = 0;
  let lostCount = 0;

  const changed = (): void => {
    wellReplicas = urls.flatMap((_url, replica) => (dead.has(replica) ? [] : [replica]));
  };
  const die = (replica: number): void => {
    if (dead.has(replica)) return;
    const { forMs, lookMs } = load.deaths;
    dead.add(replica);
    deathCounts[replica] += 1;
    shares.died(replica);
    changed();
    world.after(forMs, () => {
      dead.delete(replica);
      changed();
    });
    for (const chooser of choosers) {
      const lookedAt = random.uniform() * lookMs;
      world.after(lookedAt, () => {
        if (dead.has(replica)) chooser.leave(replica);
      });
      // Probes happen at regular intervals. The first probe after the replica's return notices that it is back.
      const backAt = forMs + ((((lookedAt - forMs) % lookMs) + lookMs) % lookMs);
      world.after(backAt, () => chooser.join(replica));
    }
  };
  const begin = (): void => {
    if (begunCount === load.requestCount) return;
    const { everyCount } = load.deaths;
    if (everyCount !== null && begunCount > 0 && begunCount % everyCount === 0)
      die(random.index(load.replicaCount));
    const id = `${begunCount}`;
    const chooser = choosers[begunCount % choosers.length];
    begunCount += 1;
    const prefix = prefixes[random.index(load.promptCount)];
    shares.began(id, wellReplicas);
    const known = chooser.find(prefix, dead);
    if (known === null) {
      lostCount += 1;
      shares.refused(id);
      world.after(1, begin);
      return;
    }
    const { replica } = known;
    shares.asked(id, { server: replica, prefix });
    const deathCount = deathCounts[replica];
    let takesMs = latencies.firstTokenMs();
    for (let token = 1; token < load.tokenCount; token++) takesMs += latencies.nextTokenMs();
    world.after(takesMs, () => {
      known.runningCount -= 1;
      if (deathCounts[replica] === deathCount) {
        known.failureCount = 0;
        shares.answered(id);
      } else {
        lostCount += 1;
        shares.refused(id);
      }
      begin();
    });
  };
  for (let client = 0; client < load.concurrency; client++) begin();
  world.run();
  return { lostCount, perSecond: load.requestCount / (world.nowMs / 1000), ...shares.figures() };
}

/** A Hone server, which chooses replicas for its requests. */
class Chooser {
  readonly #replicas: readonly Known[];
  readonly #recent: RecentRequests<Known>;

  constructor(urls: readonly string[]) {
    this.#replicas = urls.map((url, replica) => ({
      replica,
      hash: hashAddress(url),
      runningCount: 0,
      failureCount: 0,
      isReady: true,
    }));
    this.#recent = new RecentRequests(this.#replicas);
  }

  /**
   * Returns a replica that accepts the request, and counts the request there. Returns null if all replicas that were
   * tried are dead.
   */
  find(prefix: number, dead: ReadonlySet<number>): Known | null {
    const tried = new Set<Known>();
    while (tried.size < triesMax) {
      const candidates = this.#replicas
        .filter((one) => one.isReady && !tried.has(one))
        .map((known) => ({
          hash: known.hash,
          runningCount: known.runningCount,
          recentCount: this.#recent.countOf(known),
          known,
        }));
      if (candidates.length === 0) return null;
      const { known } = chooseReplica(candidates, prefix);
      this.#recent.add(known);
      if (!dead.has(known.replica)) {
        known.runningCount += 1;
        return known;
      }
      tried.add(known);
      known.failureCount += 1;
      if (known.failureCount >= failuresMax) known.isReady = false;
    }
    return null;
  }

  leave(replica: number): void {
    this.#replicas[replica].isReady = false;
  }

  join(replica: number): void {
    const known = this.#replicas[replica];
    if (known.isReady) return;
    this.#recent.join(
      known,
      this.#replicas.filter(({ isReady }) => isReady),
    );
    known.isReady = true;
    known.failureCount = 0;
  }
}

/** A queue of events in virtual time, in milliseconds. */
class World {
  /** Events in reverse order; the last one happens next. */
  readonly #events: { readonly atMs: number; readonly happen: () => void }[] = [];
  nowMs = 0;

  after(ms: number, happen: () => void): void {
    const atMs = this.nowMs + ms;
    let [low, high] = [0, this.#events.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#events[middle].atMs > atMs) low = middle + 1;
      else high = middle;
    }
    this.#events.splice(low, 0, { atMs, happen });
  }

  run(): void {
    for (let event = this.#events.pop(); event !== undefined; event = this.#events.pop()) {
      this.nowMs = event.atMs;
      event.happen();
    }
  }
}
