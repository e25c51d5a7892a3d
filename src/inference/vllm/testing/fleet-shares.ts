// Who answered how much of what in a fleet, while some of its servers were ill: what a choice can be held to, and the plain
// figures beside it.
import { chooseReplica, hashOf } from "../replicas/choose-replica.ts";

export interface FleetFigures {
  /**
   * How far the server that is farthest from its fair share of the answers is from that, in parts of it. Of each answer every
   * server that was well as the request began has an equal part in its fair share: one that is dead for half of the time
   * cannot have as much as the others, and is to have all of it as soon as it is there again.
   */
  readonly unevenness: number;
  /** The same of equal shares for all, well or ill. */
  readonly plainUnevenness: number;
  /**
   * The part of the answers that came from the server which the rendezvous order of the prompt names first among those that
   * were well as the request began.
   */
  readonly affinity: number;
  /** Of the answers whose prompt a server had computed, and has not died since, the part that came from such a server. */
  readonly reuse: number;
  /** The part of the answers that came from the server with most of their prompt's. */
  readonly plainAffinity: number;
}

interface Begun {
  readonly wellServers: readonly number[];
  /** Which was asked last, and what of: if the request is answered, by that one. */
  asked: { readonly server: number; readonly prefix: number } | null;
}

interface Share {
  answeredCount: number;
  fairCount: number;
  /** Prompts that it has computed since it died last. */
  readonly cached: Set<number>;
}

export class FleetShares {
  readonly #servers: readonly { readonly hash: number; readonly share: Share }[];
  readonly #begun = new Map<string, Begun>();
  /** Of each prompt how many answers each server gave. */
  readonly #byPrompt = new Map<number, number[]>();
  #answeredCount = 0;
  #firstCount = 0;
  #cachedCount = 0;
  #reusedCount = 0;

  /** @param urls of the servers, as those who choose know them */
  constructor(urls: readonly string[]) {
    this.#servers = urls.map((url) => ({
      hash: hashOf(url),
      share: { answeredCount: 0, fairCount: 0, cached: new Set<number>() },
    }));
  }

  /** @param wellServers which were well, by their numbers */
  began(requestId: string, wellServers: readonly number[]): void {
    this.#begun.set(requestId, { wellServers, asked: null });
  }

  /** @param asked.prefix of the request, as `prefixOf` says */
  asked(requestId: string, asked: { readonly server: number; readonly prefix: number }): void {
    const request = this.#begun.get(requestId);
    if (request !== undefined) request.asked = asked;
  }

  /** It was answered by the server that was asked last. */
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

  /** What it had computed is gone. */
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

  /** Among these, where none has anything to do. */
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
