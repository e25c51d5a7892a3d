// Answers while the server is being made: every request gets 503 with the reason and when to try again. Reads no body, knows no
// route but health, and is replaced by the server that has them all.
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { ServiceError } from "../../base/domain/service-error.ts";
import { lingerFor } from "./bodies/linger.ts";
import { errorAnswer } from "./errors.ts";
import { refuseConnection } from "./refuse-connection.ts";
import { idFor } from "./request-life.ts";

/** Connections at a time; more are closed. A start takes seconds, and none of them waits for anything. */
const connectionsMax = 1024;
/** How long a connection may say nothing. */
const silenceMs = 10_000;

const reason = "The server is starting: it reads its models.";
const retryAfterSeconds = 2;
const healthPaths: ReadonlySet<string> = new Set(["/health", "/v1/health", "/ping"]);

export interface StartingServer {
  /** Answers the requests of a connection. */
  take(socket: Socket): void;
  /** Breaks off all connections. */
  close(): void;
}

/** A server that listens nowhere: it is given its connections. */
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
    if (!request.complete) lingerFor(request);
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
