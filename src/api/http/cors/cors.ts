// Lets pages of the origins that the operator names use the API from a browser, which asks for that before it sends a key
// (the CORS protocol of https://fetch.spec.whatwg.org/). Without the setting nothing of it is there.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { rateHeaderNames } from "../limits/rate-headers.ts";

/** What a page may read of an answer beside what every page may. */
const exposedHeaders = [
  "x-request-id, x-hone-call, x-hone-ignored, x-hone-notice, retry-after, www-authenticate",
  ...rateHeaderNames,
].join(", ");
/** Those of every route: what one does not take is answered 405, and the page can read that. */
const allowedMethods = "GET, HEAD, POST, PUT, DELETE";
/** For how long a browser need not ask again; what it keeps outlives a change of the setting. */
const maxAgeSeconds = 600;

/** A list of names, and not a long one. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,2000}$/;

export type CorsRules = ReturnType<typeof corsRules>;

/** @param origins as a browser sends them, such as `https://app.example:8443`, or `*` for every one */
export function corsRules(origins: readonly string[]) {
  const named = new Set(origins);
  return {
    /** Whether the operator named this very origin: that is more than being one of all. */
    names: (origin: string | undefined): boolean =>
      origin !== undefined && origin !== "*" && named.has(origin),
    allows: (origin: string | undefined): boolean =>
      origin !== undefined && (named.has("*") || named.has(origin)),
    isOff: named.size === 0,
  };
}

/** Answers what browsers ask beforehand, and marks every answer to an allowed origin, errors and streams included. */
export function allowOrigins(app: FastifyInstance, rules: CorsRules): void {
  if (rules.isOff) return;
  app.addHook("onRequest", async (request, reply) => {
    markAnswer(request, reply, rules);
    if (!isPreflight(request) || !rules.allows(request.headers.origin)) return;
    reply.header("access-control-allow-methods", allowedMethods);
    reply.header("access-control-max-age", maxAgeSeconds);
    const asked = request.headers["access-control-request-headers"];
    // There is no header here that a page must not send.
    if (asked !== undefined && headerNames.test(asked)) reply.header("access-control-allow-headers", asked);
    await reply.code(204).send();
  });
}

/** Says whether the page that sent a request may read its answer. */
export function markAnswer(
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  rules: CorsRules,
): void {
  if (rules.isOff) return;
  // Caches must not give one origin what was said to another.
  reply.header("vary", "Origin");
  if (!rules.allows(origin)) return;
  reply.header("access-control-expose-headers", exposedHeaders);
  if (!rules.names(origin)) {
    reply.header("access-control-allow-origin", "*");
    return;
  }
  reply.header("access-control-allow-origin", origin);
  // Only for origins that are named: what a browser keeps for this server is not every page's to use.
  reply.header("access-control-allow-credentials", "true");
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
