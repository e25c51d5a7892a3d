// The HTTP listener: listens on an address for a server that has its routes, and closes it again.
import type { AddressInfo } from "node:net";
import { serviceOf, type Service } from "../domain/lifecycle.ts";
import { ServiceError } from "../domain/service-error.ts";
import type { createHttpServer } from "../http/server.ts";

type HttpServer = Awaited<ReturnType<typeof createHttpServer>>;

export interface Address {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
}

export interface Listener extends Service {
  /** Where it listens; the empty text before it does. */
  url(): string;
}

/** Stopping breaks off what still runs: drain first. The start fails as `conflict` when the port is taken. */
export function createListener(app: HttpServer, address: Address): Listener {
  let url = "";
  const life = serviceOf("listener", {
    start: async () => {
      await listen(app, address);
      url = urlOf(app.server.address(), address.host);
    },
    stop: () => app.close(),
  });
  return { ...life, url: () => url };
}

async function listen(app: HttpServer, address: Address): Promise<void> {
  try {
    await app.listen(address);
  } catch (cause) {
    const isTaken = cause instanceof Error && "code" in cause && cause.code === "EADDRINUSE";
    const what = `Port ${address.port} of ${address.host}`;
    throw new ServiceError({
      code: isTaken ? "conflict" : "invalid",
      message: isTaken
        ? `${what} is in use; stop the program that has it, or choose another with --port.`
        : `${what} cannot be listened on: ${String(cause)}; choose another with --host and --port.`,
      cause,
    });
  }
}

function urlOf(address: AddressInfo | string | null, host: string): string {
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return `http://${host.includes(":") ? `[${host}]` : host}:${port}`;
}
