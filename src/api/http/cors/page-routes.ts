// Serves the dashboard at `/`. The page has no special rights: it calls the API with the key of the person who signs
// in.
import { createHash } from "node:crypto";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { pageEncodings, type PageEncoding, type PageFile } from "../../../base/domain/page-files.ts";
import { ServiceError } from "../../../base/domain/service-error.ts";
import type { HttpDependencies } from "../dependencies.ts";

/** Allows only the page's own files. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ");

const yearSeconds = 31_536_000;

export function pageRoutes(app: FastifyInstance, { page }: Pick<HttpDependencies, "page">): void {
  app.get("/", { schema: { hide: true } }, (request, reply) => {
    const index = page()?.index;
    if (index === undefined) {
      const message =
        "The dashboard was not built; run `npm run build`. The API is at /v1, its documentation at /docs.";
      throw new ServiceError({ code: "not_found", message });
    }
    return sendIfChanged(index, policy, request, reply);
  });
  app.get<{ Params: { name: string } }>("/assets/:name", { schema: { hide: true } }, (request, reply) => {
    const { name } = request.params;
    const asset = page()?.assets.get(name);
    if (asset === undefined)
      throw new ServiceError({ code: "not_found", message: "The page has no such file." });
    reply.header("cache-control", `public, max-age=${yearSeconds}, immutable`);
    return send(asset, request, reply);
  });
}

/** Sends a file that browsers ask for again each time, and its bytes only if they changed. */
export function sendIfChanged(
  file: PageFile,
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
  return send(file, request, reply);
}

function send({ contentType, bytes }: PageFile, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const encoding = encodingFor(bytes, request.headers["accept-encoding"]);
  if (encoding !== "identity") reply.header("content-encoding", encoding);
  return reply.headers({ "content-type": contentType, vary: "accept-encoding" }).send(bytes[encoding]);
}

/** Returns the smallest encoding that the file has and the browser accepts. */
function encodingFor(bytes: PageFile["bytes"], accepted: string | readonly string[] = ""): PageEncoding {
  const offers = String(accepted)
    .split(",")
    .map((offer) => offer.trim().toLowerCase())
    .filter((offer) => !/;\s*q=0(\.0*)?$/.test(offer))
    .map((offer) => offer.split(";", 1)[0]);
  return (
    pageEncodings.find((encoding) => bytes[encoding] !== undefined && offers.includes(encoding)) ?? "identity"
  );
}
