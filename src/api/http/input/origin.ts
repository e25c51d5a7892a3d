// The server's address as a client sees it, for links in answers.
import type { FastifyRequest } from "fastify";

/** Returns the server's address as the client knows it. A proxy that terminates TLS says so in a header. */
export function originOf({ protocol, host, headers }: FastifyRequest): string {
  const isSecure = protocol === "https" || headers["x-forwarded-proto"] === "https";
  return `${isSecure ? "https" : "http"}://${host}`;
}
