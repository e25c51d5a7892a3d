// Shares the connections out among entities and clients without a key, and closes one where there are too many: a client's
// own before anybody else's, an idle one before one at work, and one without a key before one that has shown one. A
// connection whose request has a key is never closed for another; a request for which there is none is refused.
//
// Requests begin in turns of the event loop, which those of an entity take together, and those of a network without a key:
// hundreds of connections may each have one at once. A network's newest request begins first, so that a burst does not hold
// up later clients.
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../base/domain/service-error.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { keyless, TenantShares } from "../../base/domain/sharing/tenant-shares.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import { networkOf } from "./credentials/failed-logins.ts";

/** A connection that has shown a key. */
interface Keyed {
  entity: string;
  /** Requests with a key that are being answered on it. */
  busyCount: number;
}

export class Connections {
  readonly #shares: TenantShares;
  /** No request on them had a key yet; by the network they come from, oldest first. */
  readonly #strangers = new Map<string, Set<Socket>>();
  readonly #networkOf = new Map<Socket, string>();
  /** Requests on connections of strangers that wait for their turn, by network; the newest last. */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #keyed = new Map<Socket, Keyed>();
  /** Those between two requests with a key, by entity; idle longest first. */
  readonly #idle = new Map<string, Set<Socket>>();

  readonly #closed: ReturnType<Metrics["counter"]>;
  readonly #refused: ReturnType<Metrics["counter"]>;

  constructor(max: number, metrics: Metrics) {
    this.#shares = new TenantShares(max);
    this.#closed = metrics.counter({
      name: "hone_http_connections_closed_total",
      help: "Connections closed because there were too many, by whether they had shown a key.",
      labels: ["key"],
    });
    this.#refused = metrics.counter({
      name: "hone_http_connections_refused_total",
      help: "Requests refused because their entity had its share of connections, all of them busy.",
    });
    metrics.gauge({ name: "hone_http_connections", help: "Open connections." }, () => [
      { value: this.#shares.used },
    ]);
  }

  /** Bounds the connections that the server takes from now on. */
  watch(server: Server): void {
    server.on("connection", (socket) => {
      // The next one may wait behind it.
      loopTurns.skipRound();
      socket.once("close", () => this.#forget(socket));
      const isOverShare = this.#shares.roomFor(keyless) < 1;
      this.#shares.change(keyless, 1);
      const network = networkOf(socket.remoteAddress ?? "");
      this.#networkOf.set(socket, network);
      addTo(this.#strangers, network, socket);
      if (this.#shares.used > this.#shares.max) this.#closeForNewcomer();
      else if (isOverShare) this.#closeStranger();
    });
  }

  /**
   * Counts a request with a key in, on its connection.
   *
   * @returns the function to call once, when the request is over
   * @throws ServiceError `overloaded` if the entity has its share of connections, and requests on all of them
   */
  enter(socket: Socket, entity: string): () => void {
    const known = this.#keyed.get(socket);
    if (known === undefined && !this.#networkOf.has(socket)) return () => undefined;
    // Several requests at once on a connection: it stays with the first.
    if (known === undefined || (known.busyCount === 0 && known.entity !== entity)) this.#move(socket, entity);
    const keyed = this.#keyed.get(socket);
    if (keyed === undefined) return () => undefined;
    if (keyed.busyCount === 0) removeFrom(this.#idle, keyed.entity, socket);
    keyed.busyCount += 1;
    return () => {
      keyed.busyCount -= 1;
      if (keyed.busyCount === 0 && this.#keyed.has(socket)) addTo(this.#idle, keyed.entity, socket);
    };
  }

  /** True if requests of the connection begin in turns of this entity. */
  isOf(socket: Socket, entity: string): boolean {
    return this.#keyed.get(socket)?.entity === entity;
  }

  /** Calls back when it is the turn of the connection's entity, or of its network where it has shown no key. */
  inTurn(socket: Socket, begin: () => void): void {
    const entity = this.#keyed.get(socket)?.entity;
    if (entity !== undefined) return loopTurns.call(entity, begin);
    const network = this.#networkOf.get(socket) ?? "";
    const waiting = this.#waiting.get(network) ?? [];
    waiting.push(begin);
    this.#waiting.set(network, waiting);
    loopTurns.call(`${keyless}${network}`, () => {
      const newest = waiting.pop();
      if (waiting.length === 0) this.#waiting.delete(network);
      newest?.();
    });
  }

  /** Makes it the entity's. */
  #move(socket: Socket, entity: string): void {
    const former = this.#keyed.get(socket)?.entity ?? keyless;
    this.#shares.change(former, -1);
    if (this.#shares.roomFor(entity) < 1 && !this.#closeIdle(entity)) {
      this.#shares.change(former, 1);
      this.#refused.increase({});
      throw overShare(entity, this.#shares.usedBy(entity));
    }
    this.#shares.change(entity, 1);
    this.#unlist(socket);
    this.#keyed.set(socket, { entity, busyCount: 0 });
  }

  /** The newcomer is a stranger too: it goes where all others are busy. */
  #closeForNewcomer(): void {
    if (this.#networkOf.size > 1) return this.#closeStranger();
    const entities = [...this.#idle.keys()];
    const most = entities.reduce<string | null>(
      (best, one) => (best === null || this.#shares.usedBy(one) > this.#shares.usedBy(best) ? one : best),
      null,
    );
    if (most === null) this.#closeStranger();
    else this.#closeIdle(most);
  }

  /** The oldest of the network that has most, so that one address does not close all others'. */
  #closeStranger(): void {
    let most: Set<Socket> | undefined;
    for (const sockets of this.#strangers.values())
      if (most === undefined || sockets.size > most.size) most = sockets;
    this.#close(most, "none");
  }

  /** @returns false if none of the entity's is idle */
  #closeIdle(entity: string): boolean {
    return this.#close(this.#idle.get(entity), "shown");
  }

  #close(sockets: ReadonlySet<Socket> | undefined, key: "none" | "shown"): boolean {
    for (const socket of sockets ?? []) {
      this.#closed.increase({ key });
      this.#forget(socket);
      socket.destroy();
      return true;
    }
    return false;
  }

  #forget(socket: Socket): void {
    const keyed = this.#keyed.get(socket);
    if (keyed === undefined && !this.#networkOf.has(socket)) return;
    this.#shares.change(keyed?.entity ?? keyless, -1);
    this.#unlist(socket);
    this.#keyed.delete(socket);
  }

  #unlist(socket: Socket): void {
    const network = this.#networkOf.get(socket);
    const keyed = this.#keyed.get(socket);
    if (network !== undefined) removeFrom(this.#strangers, network, socket);
    if (keyed !== undefined) removeFrom(this.#idle, keyed.entity, socket);
    this.#networkOf.delete(socket);
  }
}

function addTo(sets: Map<string, Set<Socket>>, name: string, socket: Socket): void {
  const sockets = sets.get(name);
  if (sockets === undefined) sets.set(name, new Set([socket]));
  else sockets.add(socket);
}

function removeFrom(sets: Map<string, Set<Socket>>, name: string, socket: Socket): void {
  const sockets = sets.get(name);
  sockets?.delete(socket);
  if (sockets?.size === 0) sets.delete(name);
}

function overShare(entity: string, count: number): ServiceError {
  const message = `The entity "${entity}" has ${count} connections, its share of those that the server takes (http.connections), and a request on each. Wait for one to end, or send requests one after another on fewer connections.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
}
