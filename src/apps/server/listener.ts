// The HTTP listener. It takes the address at the start, so that a port conflict is known before anything is loaded. It
// answers that the server is starting until the HTTP server takes over, without a gap.
import { lookup } from "node:dns/promises";
import { createServer, type AddressInfo, type Server } from "node:net";
import { assert } from "../../base/domain/assert.ts";
import { serviceOf, type Service } from "../../base/domain/lifecycle.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import type { createHttpServer } from "../../api/http/server.ts";
import { createStartingServer } from "../../api/http/starting-server.ts";

type HttpServer = Awaited<ReturnType<typeof createHttpServer>>;

export interface Address {
  readonly host: string;
  /** 0 picks a free one. */
  readonly port: number;
}

/** Its start fails as `conflict` if the port is taken. */
export interface Listener extends Service {
  /** Returns its URL; empty before it listens. */
  url(): string;
  /** Passes requests to a server until that service stops, which aborts running requests: drain first. */
  handOverTo(app: HttpServer): Service;
}

/**
 * Backlog of connections in the system; it may allow fewer (net.core.somaxconn). Node's 511 are fewer than one client
 * opens at the same time, and a refused client retries only after 1, 3 and 7 seconds.
 */
const backlog = 4096;

/** The part of Node's handle of a listening socket that sets its backlog. */
interface Handle {
  listen(backlog: number): number;
}

export function createListener({ host, port: wantedPort }: Address): Listener {
  const starting = createStartingServer();
  let main: Server | null = null;
  let others: readonly Server[] = [];
  let port = 0;
  const close = (): void => {
    for (const door of others) door.close();
    starting.close();
  };
  return {
    ...serviceOf("listener", {
      start: async () => {
        const [first, ...further] = host === "localhost" ? await addressesOf(host) : [host];
        main = await listening({ host: first, port: wantedPort }, host);
        port = portOf(main);
        // As for any server, one address is enough: a machine may have only IPv4 or IPv6.
        const more = further.map((other) => listening({ host: other, port }, host).catch(() => null));
        others = (await Promise.all(more)).filter((door) => door !== null);
        for (const door of [main, ...others]) door.on("connection", (socket) => starting.take(socket));
      },
      stop: async () => {
        main?.close();
        close();
      },
    }),
    url: () => (port === 0 ? "" : `http://${host.includes(":") ? `[${host}]` : host}:${port}`),
    handOverTo: (app) =>
      serviceOf("http server", {
        start: async () => {
          assert(main !== null, "the listener to hand over is listening");
          // Listening on another server takes over its handle; new connections then go to the new server.
          await app.listen(Object.assign(main, { host: "" }));
          // This resets the system's backlog to Node's default, and no option prevents that.
          // oxlint-disable-next-line no-underscore-dangle -- Node's own name for it
          (app.server as unknown as { readonly _handle: Handle | null })._handle?.listen(backlog);
          main = null;
          for (const door of others) {
            door.removeAllListeners("connection");
            door.on("connection", (socket) => app.server.emit("connection", socket));
          }
        },
        stop: async () => {
          close();
          await app.close();
        },
      }),
  };
}

async function addressesOf(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

/** @param named the host as the operator spelled it */
function listening(address: Address, named: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const door = createServer();
    door.once("error", (cause) => reject(refusalOf(cause, { ...address, host: named })));
    door.listen({ ...address, backlog }, () => {
      door.removeAllListeners("error");
      resolve(door);
    });
  });
}

function refusalOf(cause: Error, { host, port }: Address): ServiceError {
  const isTaken = "code" in cause && cause.code === "EADDRINUSE";
  const what = `Port ${port} of ${host}`;
  return new ServiceError({
    code: isTaken ? "conflict" : "invalid",
    message: isTaken
      ? `${what} is in use; stop the program that has it, or choose another with --port.`
      : `${what} cannot be listened on: ${String(cause)}; choose another with --host and --port.`,
    cause,
  });
}

function portOf(door: Server): number {
  // Safe cast: a server on a port has such an address.
  return (door.address() as AddressInfo | null)?.port ?? 0;
}
