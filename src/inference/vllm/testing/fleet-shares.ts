// Statistics of which server answered which prompts in a fleet with failing servers: fair measures of a choice, and
// plain figures for comparison.
import { chooseReplica, hashAddress } from "../replicas/choose-replica.ts";

export interface FleetFigures {
  /**
   * Maximum deviation of a server from its fair share of the answers, relative to that share. Each answer counts
   * equally towards the fair shares of the servers that were healthy when its request began. So a dead server is
   * expected to have none meanwhile, and its full share as soon as it is back.
   */
  readonly unevenness: number;
  /** The same relative to equal shares for all servers. */
  readonly plainUnevenness: number;
  /**
   * Fraction of answers from the server that is first in the prompt's rendezvous order among those healthy when the
   * request began.
   */
  readonly affinity: number;
  /**
   * Fraction of answers from a server with the prompt in its cache, among answers whose prompt some server had cached.
   */
  readonly reuse: number;
  /** Fraction of answers from the server that answered most of their prompt's requests. */
  readonly plainAffinity: number;
}

interface Begun {
  readonly wellServers: readonly number[];
  /** The last server asked, and the prompt's prefix: an answer comes from that server. */
  asked: { readonly server: number; readonly prefix: number } | null;
}

interface Share {
  answeredCount: number;
  fairCount: number;
  /** Prompts that it has computed since its last death. */
  readonly cached: Set<number>;
}

export class FleetShares {
  readonly #servers: readonly { readonly hash: number; readonly share: Share }[];
  readonly #begun = new Map<string, Begun>();
  /** Number of answers per server, for each prompt. */
  readonly #byPrompt = new Map<number, number[]>();
  #answeredCount = 0;
  #firstCount = 0;
  #cachedCount = 0;
  #reusedCount = 0;

  /** @param urls of the servers, as those who choose know them */
  constructor(urls: readonly string[]) {
    this.#servers = urls.map((url) => ({
      hash: hashAddress(url),
      share: { answeredCount: 0, fairCount: 0, cached: new Set<number>() },
    }));
  }

  /** @param wellServers numbers of the healthy servers */
  began(requestId: string, wellServers: readonly number[]): void {
    this.#begun.set(requestId, { wellServers, asked: null });
  }

  /** @param asked.prefix of the request, from `hashPrefix` */
  asked(requestId: string, asked: { readonly server: number; readonly prefix: number }): void {
    const request = this.#begun.get(requestId);
    if (request !== undefined) request.asked = asked;
  }

  /** Counts the answer for the server asked last. */
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

  /** Its cache is gone. */
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

  /** The first of these in rendezvous order, as if all were idle. */
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
