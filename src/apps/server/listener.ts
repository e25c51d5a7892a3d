// The HTTP listener: has the address from the start on, so that a taken port is known before anything is loaded. Requests are
// told that the server starts until the server that has its routes takes the address over, without a moment between.
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
  /** 0 takes a free one. */
  readonly port: number;
}

/** Its start fails as `conflict` if the port is taken. */
export interface Listener extends Service {
  /** Where it listens; the empty text before it does. */
  url(): string;
  /** Has requests answered by a server until that service stops, which breaks off what still runs: drain first. */
  handOverTo(app: HttpServer): Service;
}

/**
 * Connections that the system keeps until the server takes them; it may keep fewer (net.core.somaxconn). Node's 511 are less
 * than one client opens at once, and whoever finds no room tries again only after 1, 3 and 7 seconds.
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
        // As with any server, one address is enough: a machine may have only one of IPv4 and IPv6.
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
          assert(main !== null, "what is handed over listens");
          // A server that is given another one takes over its handle, and connections go to it from then on.
          await app.listen(Object.assign(main, { host: "" }));
          // Which asks the system for Node's own backlog again, and has no option for another.
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

/** @param named as the operator spelled the host */
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
  // A server on a port has an address that is no path.
  return (door.address() as AddressInfo | null)?.port ?? 0;
}
