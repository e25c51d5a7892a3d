// For tests: a proxy to PostgreSQL. Tests can break its connections, as if the database went away, and restore them.
import { createServer, connect, type Socket } from "node:net";
import type { AddressInfo } from "node:net";

export interface CutLine {
  /** URL of the database through the proxy. */
  readonly url: string;
  /** Breaks all connections and refuses new ones. */
  cut(): void;
  mend(): void;
  close(): Promise<void>;
}

/** Opens a proxy to the database with this URL. */
export async function cutLineTo(databaseUrl: string): Promise<CutLine> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((socket) => {
    if (isCut) {
      socket.resetAndDestroy();
      return;
    }
    const onward = connect(Number(target.port), target.hostname);
    for (const [one, other] of [
      [socket, onward],
      [onward, socket],
    ]) {
      sockets.add(one);
      one.pipe(other);
      one.on("error", () => other.destroy());
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = new URL(databaseUrl);
  // Safe cast: the server listens on a port, so its address is an object.
  url.port = String((server.address() as AddressInfo).port);
  const breakOff = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    url: url.href,
    cut: () => {
      isCut = true;
      breakOff();
    },
    mend: () => (isCut = false),
    close: () => {
      breakOff();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
