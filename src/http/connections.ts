// How many connections there may be at once, and which one goes when another comes: of those that showed no key the oldest,
// then of those that showed one the one that has been idle longest. A connection whose request has a key is never closed
// for another. So connections without a key last only until another client needs one.
import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { Metrics } from "../telemetry/metrics.ts";

export class Connections {
  readonly #max: number;
  /** No request on them had a key yet; oldest first. */
  readonly #strangers = new Set<Socket>();
  /** Between two requests with a key; idle longest first. */
  readonly #idle = new Set<Socket>();
  /** How many requests with a key are being answered on each. */
  readonly #busy = new Map<Socket, number>();

  readonly #closed: ReturnType<Metrics["counter"]>;

  constructor(max: number, metrics: Metrics) {
    this.#max = max;
    this.#closed = metrics.counter({
      name: "hone_http_connections_closed_total",
      help: "Connections closed because there were too many, by whether they had shown a key.",
      labels: ["key"],
    });
    metrics.gauge({ name: "hone_http_connections", help: "Open connections." }, () => [
      { value: this.#count },
    ]);
  }

  /** Bounds the connections that the server takes from now on. */
  watch(server: Server): void {
    server.on("connection", (socket) => {
      socket.once("close", () => this.#forget(socket));
      this.#strangers.add(socket);
      if (this.#count > this.#max) this.#closeOne();
    });
  }

  /**
   * Says that a request with a key came on the connection.
   *
   * @returns the function to call once, when it is over
   */
  enter(socket: Socket): () => void {
    const count = this.#busy.get(socket) ?? 0;
    if (count === 0 && !this.#strangers.delete(socket) && !this.#idle.delete(socket)) return () => undefined;
    this.#busy.set(socket, count + 1);
    return () => this.#leave(socket);
  }

  get #count(): number {
    return this.#strangers.size + this.#idle.size + this.#busy.size;
  }

  #leave(socket: Socket): void {
    const count = this.#busy.get(socket);
    // It was closed meanwhile.
    if (count === undefined) return;
    if (count > 1) {
      this.#busy.set(socket, count - 1);
      return;
    }
    this.#busy.delete(socket);
    this.#idle.add(socket);
  }

  /** The newcomer is a stranger too: it goes where all others are busy. */
  #closeOne(): void {
    const isStranger = this.#strangers.size > 1 || this.#idle.size === 0;
    const [socket] = isStranger ? this.#strangers : this.#idle;
    if (socket === undefined) return;
    this.#closed.increase({ key: isStranger ? "none" : "shown" });
    this.#forget(socket);
    socket.destroy();
  }

  #forget(socket: Socket): void {
    this.#strangers.delete(socket);
    this.#idle.delete(socket);
    this.#busy.delete(socket);
  }
}
