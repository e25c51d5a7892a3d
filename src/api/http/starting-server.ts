// Answers requests while the server is starting, until the complete server takes over. Every request gets 503 with the
// reason and a retry time; health requests also get the state. This server reads no bodies and has no routes.
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../base/domain/service-error.ts";
import { lingerBeforeClose } from "./bodies/linger.ts";
import { errorAnswer } from "./errors.ts";
import { refuseConnection } from "./refuse-connection.ts";
import { idFor } from "./request-lifecycle.ts";

/**
 * Maximum number of connections; further ones are closed. This number is enough, because the start takes only a few
 * seconds and each request is answered immediately.
 */
const connectionsMax = 1024;
/** Time in milliseconds after which a silent connection is closed. */
const silenceMs = 10_000;

const reason = "The server is starting: it reads its models.";
const retryAfterSeconds = 2;
const healthPaths: ReadonlySet<string> = new Set(["/health", "/v1/health", "/ping"]);

export interface StartingServer {
  /** Answers the requests that arrive on a connection. */
  take(socket: Socket): void;
  close(): void;
}

/** Creates a server that does not listen itself. The caller passes connections to it. */
export function createStartingServer(): StartingServer {
  const server = answering();
  const sockets = new Set<Socket>();
  return {
    take: (socket) => {
      if (sockets.size >= connectionsMax) {
        socket.destroy();
        return;
      }
      sockets.add(socket);
      socket.once("close", () => sockets.delete(socket));
      socket.setTimeout(silenceMs, () => socket.destroy());
      server.emit("connection", socket);
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
}

function answering(): Server {
  const server = createServer({ requireHostHeader: false }, (request, response) => {
    const id = idFor(request.headers);
    const error = new ServiceError({
      code: "unavailable",
      obstacle: "unloaded-base",
      message: `${reason} Try again in ${retryAfterSeconds} s.`,
      retryAfterSeconds,
    });
    const { status, headers, body } = errorAnswer(error, id);
    const isHealth = healthPaths.has((request.url ?? "").split("?", 1)[0]);
    const health = { status: "unavailable", state: "starting", reason, models: {} };
    const text = JSON.stringify(isHealth ? { ...health, ...body } : body);
    if (!request.complete) lingerBeforeClose(request);
    response.writeHead(status, {
      ...headers,
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      "x-request-id": id,
      connection: "close",
    });
    response.end(text);
  });
  server.on("clientError", refuseConnection);
  return server;
}
