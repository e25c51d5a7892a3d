// Statistics of which server answered which prompts, in a fleet with failing servers. Some measures allow for the
// failures, so that they judge only the choice of servers; plain figures are for comparison.
import { chooseReplica, hashAddress } from "../replicas/choose-replica.ts";

export interface FleetFigures {
  /**
   * Maximum deviation of a server's number of answers from its fair share, relative to that share. Each answer counts
   * equally towards the fair shares of all servers that were healthy when its request began. A dead server should
   * therefore have no answers while it is dead, and its full share as soon as it is back.
   */
  readonly unevenness: number;
  /** Like `unevenness`, but relative to equal shares for all servers. */
  readonly plainUnevenness: number;
  /**
   * Fraction of answers from the best server in the prompt's rendezvous order. Only servers that were healthy when the
   * request began count.
   */
  readonly affinity: number;
  /**
   * Fraction of answers from a server that had the prompt in its cache, among answers whose prompt was cached by some
   * server.
   */
  readonly reuse: number;
  /** Fraction of answers that came from the server with the most answers to the same prompt. */
  readonly plainAffinity: number;
}

interface Begun {
  readonly wellServers: readonly number[];
  /**
   * The last server that was asked, from which the answer comes, and the hash of the prompt's prefix. Null before a
   * server is asked.
   */
  asked: { readonly server: number; readonly prefix: number } | null;
}

interface Share {
  answeredCount: number;
  fairCount: number;
  /** Prompts that the server has computed since it last died. */
  readonly cached: Set<number>;
}

export class FleetShares {
  readonly #servers: readonly { readonly hash: number; readonly share: Share }[];
  readonly #begun = new Map<string, Begun>();
  /** For each prompt, the number of answers by server. */
  readonly #byPrompt = new Map<number, number[]>();
  #answeredCount = 0;
  #firstCount = 0;
  #cachedCount = 0;
  #reusedCount = 0;

  /** @param urls URLs of the servers, as the engine knows them */
  constructor(urls: readonly string[]) {
    this.#servers = urls.map((url) => ({
      hash: hashAddress(url),
      share: { answeredCount: 0, fairCount: 0, cached: new Set<number>() },
    }));
  }

  /**
   * Records that a request has begun.
   *
   * @param wellServers indices of the healthy servers
   */
  began(requestId: string, wellServers: readonly number[]): void {
    this.#begun.set(requestId, { wellServers, asked: null });
  }

  /**
   * Records that a server was asked for an answer.
   *
   * @param asked.prefix hash of the request's prefix, from `hashPrefix`
   */
  asked(requestId: string, asked: { readonly server: number; readonly prefix: number }): void {
    const request = this.#begun.get(requestId);
    if (request !== undefined) request.asked = asked;
  }

  /** Counts a request's answer as an answer of the server that was asked last for this request. */
  answered(requestId: string): void {
    const request = this.#begun.get(requestId);
    this.#begun.delete(requestId);
    if (request === undefined || request.asked === null) return;
    const { wellServers } = request;
    const { server, prefix } = request.asked;
    for (const well of wellServers) this.#servers[well].share.fairCount += 1 / wellServers.length;
    const { share } = this.#servers[server];
    share.answeredCount += 1;
    this.#answeredCount += 1;
    if (server === this.#first(prefix, wellServers)) this.#firstCount += 1;
    if (this.#servers.some((one) => one.share.cached.has(prefix))) {
      this.#cachedCount += 1;
      if (share.cached.has(prefix)) this.#reusedCount += 1;
    }
    share.cached.add(prefix);
    const counts = this.#byPrompt.get(prefix) ?? this.#servers.map(() => 0);
    counts[server] += 1;
    this.#byPrompt.set(prefix, counts);
  }

  refused(requestId: string): void {
    this.#begun.delete(requestId);
  }

  /** Records a server's death, which empties its cache. */
  died(server: number): void {
    this.#servers[server].share.cached.clear();
  }

  figures(): FleetFigures {
    const shares = this.#servers.map(({ share }) => share);
    const even = this.#answeredCount / shares.length;
    const farthest = (fairCount: (share: Share) => number): number =>
      Math.max(...shares.map((share) => Math.abs(share.answeredCount / fairCount(share) - 1)));
    const mostOfEach = [...this.#byPrompt.values()].reduce((sum, counts) => sum + Math.max(...counts), 0);
    return {
      unevenness: farthest(({ fairCount }) => fairCount),
      plainUnevenness: farthest(() => even),
      affinity: this.#firstCount / this.#answeredCount,
      reuse: this.#reusedCount / this.#cachedCount,
      plainAffinity: mostOfEach / this.#answeredCount,
    };
  }

  /** Returns the best of the given servers in the prompt's rendezvous order, as if all were idle. */
  #first(prefix: number, servers: readonly number[]): number | null {
    if (servers.length === 0) return null;
    const idle = servers.map((server) => ({
      server,
      hash: this.#servers[server].hash,
      runningCount: 0,
      recentCount: 0,
    }));
    return chooseReplica(idle, prefix).server;
  }
}
