// Answers requests that never reach a route, such as malformed ones, with the common error body. Then closes their
// connection.
import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { FastifyInstance } from "fastify";
import { newUuid } from "../../base/domain/random.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { errorAnswer } from "./errors.ts";

interface Refusal {
  readonly status: string;
  readonly message: string;
}

const malformed: Refusal = { status: "400 Bad Request", message: "This is not a well-formed HTTP request." };
const refusals: Readonly<Record<string, Refusal>> = {
  HPE_HEADER_OVERFLOW: {
    status: "431 Request Header Fields Too Large",
    message: "The request's headers are too long.",
  },
  ERR_HTTP_REQUEST_TIMEOUT: {
    status: "408 Request Timeout",
    message: "The request was not complete in time; send it faster, or less at a time.",
  },
};
const noProxy: Refusal = {
  status: "405 Method Not Allowed",
  message: "CONNECT is for proxies, and this server is not one.",
};

/**
 * Unfinished answers of each connection. There may be several, because clients may send further requests before they
 * are answered (pipelining).
 */
const answers = new WeakMap<Duplex, readonly ServerResponse[]>();
/** Connections that close after their current answer, because their next request did not arrive in time. */
const late = new WeakSet<Duplex>();

/** Tracks the unfinished answers of each connection, for {@link refuseConnection}. */
export function trackAnswers(server: Server): void {
  server.on("request", ({ socket }, response) => {
    const unended = (answers.get(socket) ?? []).filter(({ closed }) => !closed);
    answers.set(socket, [...unended, response]);
  });
}

/**
 * Handles Node's `clientError`: malformed requests, headers that are too long, and requests that take too long. Never
 * writes into an answer that has begun. If a request is too slow while an answer is in progress, the answer finishes,
 * then the connection closes.
 */
export function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  const begun = (answers.get(socket) ?? []).find(({ headersSent, closed }) => headersSent && !closed);
  if (begun !== undefined && error.code === "ERR_HTTP_REQUEST_TIMEOUT") {
    // Node repeats the error until the answer has finished, so the listener must be added only the first time.
    if (!late.has(socket)) begun.once("finish", () => socket.destroySoon());
    late.add(socket);
    return;
  }
  if (error.code === "ECONNRESET" || !socket.writable || begun !== undefined) {
    socket.destroy();
    return;
  }
  refuse(socket, refusals[error.code ?? ""] ?? malformed);
}

function refuse(socket: Duplex, { status, message }: Refusal): void {
  const { text, requestId } = refusalText("header", message);
  const head = [
    `HTTP/1.1 ${status}`,
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}

/** Answers CONNECT requests and unknown expectations, which Node would otherwise refuse without a body. */
export function answerUnroutedRequests(app: FastifyInstance): void {
  app.server.on("connect", (_request, socket) => {
    socket.on("error", () => socket.destroy());
    refuse(socket, noProxy);
  });
  app.server.on("checkExpectation", (_request, response) => {
    const { text, requestId } = refusalText(
      "header",
      "The Expect header asks for something unknown; leave it out.",
    );
    response.writeHead(417, {
      "content-type": "application/json; charset=utf-8",
      "content-length": Buffer.byteLength(text),
      "x-request-id": requestId,
      connection: "close",
    });
    response.end(text);
  });
}

function refusalText(place: string, message: string): { readonly text: string; readonly requestId: string } {
  const requestId = newUuid();
  const fault = { location: [place], message, type: "value_error" };
  const { body } = errorAnswer(new ServiceError({ code: "invalid", faults: [fault] }), requestId);
  return { text: JSON.stringify(body), requestId };
}
