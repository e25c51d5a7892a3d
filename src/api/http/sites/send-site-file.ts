// Sends files of the dashboard and the guide, compressed if the browser accepts that. Their content security policy
// allows only a site's own files.
import { createHash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { siteEncodings, type SiteFile } from "../../../base/domain/site-files.ts";
import { acceptedEncoding } from "../input/accepted-encoding.ts";

/**
 * Returns a content security policy that allows only the site's own files.
 *
 * @param scripts further sources of scripts and workers to allow
 */
export function sitePolicy(...scripts: readonly string[]): string {
  return [
    "default-src 'none'",
    ["script-src 'self'", ...scripts].join(" "),
    "style-src 'self'",
    "connect-src 'self'",
    "img-src 'self' data:",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'none'",
  ].join("; ");
}

/** Sends a file that browsers must revalidate before each use. Answers only 304 if the browser has the current file. */
export function sendIfChanged(
  file: SiteFile,
  contentSecurityPolicy: string,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const tag = `"${createHash("sha256").update(file.bytes.identity).digest("base64url").slice(0, 22)}"`;
  reply.headers({
    "cache-control": "no-cache",
    etag: tag,
    "content-security-policy": contentSecurityPolicy,
  });
  if (request.headers["if-none-match"] === tag) return reply.code(304).send();
  return sendSiteFile(file, request, reply);
}

export function sendSiteFile(
  { contentType, bytes }: SiteFile,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  // The build has not made each encoding of each file.
  const made = siteEncodings.filter((encoding) => bytes[encoding] !== undefined);
  const encoding = acceptedEncoding(request.headers["accept-encoding"], made);
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.headers({ "content-type": contentType, vary: "accept-encoding" }).send(bytes[encoding]);
}
