// Reports to the client, in a header, how the server understood a request.
import type { FastifyReply } from "fastify";

/** Sets the header `x-hone-notice`, if there are notices. */
export function writeNotices(reply: FastifyReply, notices: readonly string[]): void {
  if (notices.length > 0) reply.header("x-hone-notice", inHeader(notices.join("; ")));
}

/** Replaces each character that a header cannot contain with `?`. */
function inHeader(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}
