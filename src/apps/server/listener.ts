// The HTTP listener. It binds the port at the beginning of the start, so that a port conflict is reported before
// anything is loaded. Until the HTTP server takes over, it responds that the server is starting; no connection is
// refused at the handover.
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
  /** TCP port; 0 to use a free one. */
  readonly port: number;
}

/** Binds the port when it starts, which fails with `conflict` if the port is in use. */
export interface Listener extends Service {
  /** Returns the server's URL; empty before the port is bound. */
  url(): string;
  /**
   * Returns a service that passes requests to a server while the service runs. Its stop aborts running requests, so let
   * them finish first.
   */
  handOverTo(app: HttpServer): Service;
}

/**
 * Maximum number of connections that the operating system queues; its own limit may be lower (net.core.somaxconn).
 * Node.js's default of 511 is exceeded by a single client that opens many connections at the same time. A client whose
 * connection attempt is dropped retries only after 1, 3 and 7 seconds.
 */
const backlog = 4096;

/** The method of Node.js's internal socket handle that sets the backlog. */
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
        // `localhost` can stand for an IPv4 and an IPv6 address. Listening on the second address may fail, because a
        // machine may have only one of the two.
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
          // The HTTP server takes over the listening socket, so new connections go to it.
          await app.listen(Object.assign(main, { host: "" }));
          // `listen` has reset the backlog to Node.js's default, and no option prevents that.
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

/** @param named host as the operator wrote it, for the error message */
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
  // Safe cast: a server that listens on a TCP port has such an address.
  return (door.address() as AddressInfo | null)?.port ?? 0;
}
