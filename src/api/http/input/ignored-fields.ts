// Names the fields of a request that nothing read, in the response header `x-hone-ignored`.
import type { FastifyReply } from "fastify";

/** Headers have little room; a client with more unknown fields than this learns of the first ones. */
const nameCountMax = 32;

/** Sets the header when there is something to name; what does not belong in a header is replaced by `?`. */
export function nameIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length === 0) return;
  const safe = names.slice(0, nameCountMax).map((name) => name.slice(0, 80).replaceAll(/[^\w.*-]/g, "?"));
  if (names.length > nameCountMax) safe.push("...");
  reply.header("x-hone-ignored", safe.join(", "));
}
