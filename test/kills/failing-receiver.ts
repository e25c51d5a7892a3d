// A webhook receiver that sometimes fails. It delays its answers, refuses some events at the first attempt, and
// remembers the events that it accepted.
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { Random } from "../../src/base/domain/random.ts";

/** Share of all events that are refused at the first attempt. */
const refusedShare = 0.03;
const answerMsMax = 20;

export class FailingReceiver {
  readonly #server: Server;
  readonly #random: Random;
  /** Ids of accepted events, by type and subject. */
  readonly #taken = new Map<string, Map<string, Set<string>>>();
  /** Number of times that each event was received. */
  readonly #seen = new Map<string, number>();
  /** True to stop refusing events. */
  isWell = false;

  private constructor(server: Server, random: Random) {
    this.#server = server;
    this.#random = random;
  }

  static async listen(random: Random): Promise<FailingReceiver> {
    const server = createServer();
    const receiver = new FailingReceiver(server, random);
    server.on("request", (request, response) => {
      receiver.#answer(request).then(
        (status) => response.writeHead(status).end(),
        // Ignored: the server that sent the event has died.
        () => response.destroy(),
      );
    });
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
    return receiver;
  }

  get url(): string {
    // Safe cast: the server listens on TCP.
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/hook`;
  }

  /** Returns the ids of accepted events of this type, by subject. */
  taken(type: string): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#taken.get(type) ?? new Map<string, ReadonlySet<string>>();
  }

  get eventCount(): number {
    return this.#seen.size;
  }

  /** Number of events that were received more than once. */
  get repeatedCount(): number {
    return [...this.#seen.values()].filter((count) => count > 1).length;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage): Promise<number> {
    const pieces: Buffer[] = [];
    for await (const piece of request as AsyncIterable<Buffer>) pieces.push(piece);
    const event = JSON.parse(Buffer.concat(pieces).toString()) as {
      readonly type: string;
      readonly data: { readonly ids?: readonly string[]; readonly job_id?: string };
    };
    const id = String(request.headers["webhook-id"]);
    const count = (this.#seen.get(id) ?? 0) + 1;
    this.#seen.set(id, count);
    if (!this.isWell && count === 1 && this.#random.uniform() < refusedShare) return 500;
    await sleep(this.#random.index(answerMsMax));
    const ofType = this.#taken.get(event.type) ?? new Map<string, Set<string>>();
    this.#taken.set(event.type, ofType);
    for (const about of event.data.ids ?? [event.data.job_id ?? ""]) {
      const events = ofType.get(about) ?? new Set<string>();
      ofType.set(about, events.add(id));
    }
    return 204;
  }
}
