// Divides the connections among entities and clients without a key. At the limit, the server closes a connection
// without a key or, if all have keys, an idle connection, to make room for a new one. If an entity exceeds its share,
// the server closes the entity's longest idle connection or, if all are busy, refuses the new request.
import type { Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../base/domain/service-error.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import { keyless, TenantShares } from "../../base/domain/sharing/tenant-shares.ts";
import type { Metrics } from "../../base/telemetry/metrics.ts";
import { networkOf } from "./credentials/failed-logins.ts";

interface Keyed {
  entity: string;
  /** Number of authenticated requests in progress on the connection. */
  busyCount: number;
}

export class Connections {
  readonly #shares: TenantShares;
  /** Connections that have not sent a valid key, by the client's network, ordered from oldest to newest. */
  readonly #strangers = new Map<string, Set<Socket>>();
  readonly #networkOf = new Map<Socket, string>();
  /**
   * Requests on connections without a key that wait for their network's turn, by network, ordered from oldest to
   * newest.
   */
  readonly #waiting = new Map<string, (() => void)[]>();
  readonly #keyed = new Map<Socket, Keyed>();
  /**
   * Connections that have sent a valid key and have no request in progress, by entity. The longest idle connection is
   * first.
   */
  readonly #idle = new Map<string, Set<Socket>>();

  readonly #closed: ReturnType<Metrics["counter"]>;
  readonly #refused: ReturnType<Metrics["counter"]>;

  constructor(max: number, metrics: Metrics) {
    this.#shares = new TenantShares(max);
    this.#closed = metrics.counter({
      name: "hone_http_connections_closed_total",
      help: "Connections closed because the maximum number was reached, by whether the client had sent a valid key.",
      labels: ["key"],
    });
    this.#refused = metrics.counter({
      name: "hone_http_connections_refused_total",
      help: "Requests refused because their entity used its whole share of connections, and none of these was idle.",
    });
    metrics.gauge({ name: "hone_http_connections", help: "Open connections." }, () => [
      { value: this.#shares.used },
    ]);
  }

  /** Limits the connections that the server accepts from now on. */
  watch(server: Server): void {
    server.on("connection", (socket) => {
      // The event loop accepts one connection in each round. The next round is therefore kept short, so that other
      // clients can connect soon.
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
   * Registers an authenticated request on its connection.
   *
   * @returns the function that the caller must call once, when the request is over
   * @throws ServiceError `overloaded` if the entity has reached its share of connections and all of them are busy
   */
  enter(socket: Socket, entity: string): () => void {
    const known = this.#keyed.get(socket);
    if (known === undefined && !this.#networkOf.has(socket)) return () => undefined;
    // A connection belongs to the entity of its first running request until no request is running.
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

  /** True if the connection belongs to the entity, so that its requests begin when it is the entity's turn. */
  isOf(socket: Socket, entity: string): boolean {
    return this.#keyed.get(socket)?.entity === entity;
  }

  /**
   * Calls `begin` at the turn of the connection's entity. A connection that has not sent a valid key waits for its
   * network's turn instead. At that turn, the network's newest request begins first.
   */
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

  /**
   * Counts the connection towards the entity's share.
   *
   * @throws ServiceError `overloaded` if the share is used up and no connection of the entity is idle
   */
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

  /**
   * Makes room for a new connection: closes another connection without a key, if there is one. Otherwise closes an idle
   * connection of the entity with the most connections, or the new connection if none is idle.
   */
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

  /**
   * Closes a connection without a key: the oldest connection of the network that has the most of them. One address thus
   * cannot displace all others.
   */
  #closeStranger(): void {
    let most: Set<Socket> | undefined;
    for (const sockets of this.#strangers.values())
      if (most === undefined || sockets.size > most.size) most = sockets;
    this.#close(most, "none");
  }

  /**
   * Closes the entity's longest idle connection.
   *
   * @returns false if the entity has no idle connection
   */
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
  const message = `The entity "${entity}" has ${count} connections, its share of the server's (http.connections), and a request on each. Wait for one to end, or send requests one after another on fewer connections.`;
  return new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
}
