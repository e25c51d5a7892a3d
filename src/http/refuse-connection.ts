// Answers what is not HTTP at all, before there is a request: the one error body, then the connection ends.
import type { Socket } from "node:net";
import { newUuid } from "../domain/ids.ts";
import { ServiceError } from "../domain/service-error.ts";
import { errorAnswer } from "./errors.ts";

/** For Node's `clientError`: what the parser refused, headers too long included. */
export function refuseConnection(error: Error & { readonly code?: string }, socket: Socket): void {
  if (error.code === "ECONNRESET" || !socket.writable) {
    socket.destroy();
    return;
  }
  const isHeader = error.code === "HPE_HEADER_OVERFLOW";
  const message = isHeader
    ? "The request's headers are too long."
    : "This is not a well-formed HTTP request.";
  const fault = { location: ["header"], message, type: "value_error" };
  const requestId = newUuid();
  const { body } = errorAnswer(new ServiceError({ code: "invalid", faults: [fault] }), requestId);
  const text = JSON.stringify(body);
  const head = [
    isHeader ? "HTTP/1.1 431 Request Header Fields Too Large" : "HTTP/1.1 400 Bad Request",
    "content-type: application/json; charset=utf-8",
    `content-length: ${Buffer.byteLength(text)}`,
    `x-request-id: ${requestId}`,
    "connection: close",
  ];
  socket.end(`${head.join("\r\n")}\r\n\r\n${text}`);
}
