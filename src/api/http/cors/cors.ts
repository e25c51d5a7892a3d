// CORS (https://fetch.spec.whatwg.org/): lets browser pages call the API if the operator has listed their origin.
// Without the setting, this module does nothing.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { rateHeaderNames } from "../limits/rate-headers.ts";

/** Response headers that a page may read, in addition to the headers that CORS always exposes. */
const exposedHeaders = [
  "x-request-id, x-hone-call, x-hone-ignored, x-hone-notice, retry-after, www-authenticate",
  ...rateHeaderNames,
].join(", ");
/** Methods of all routes. If a path does not support an allowed method, the answer is 405, which the page can read. */
const allowedMethods = "GET, HEAD, POST, PUT, DELETE";
/**
 * Time in seconds that a browser caches the answer to a preflight request. Cached answers outlive a change of the
 * setting.
 */
const maxAgeSeconds = 600;

/** Matches a list of header names, up to a maximum length. */
const headerNames = /^[\w!#$%&'*+.^`|~, -]{1,2000}$/;

export type CorsRules = ReturnType<typeof corsRules>;

/**
 * Returns the rules for the origins that the operator allows.
 *
 * @param origins origins as browsers send them, such as `https://app.example:8443`, or `*` for all
 */
export function corsRules(origins: readonly string[]) {
  const named = new Set(origins);
  return {
    /** True if the operator's list contains exactly this origin; an entry `*` does not count. */
    names: (origin: string | undefined): boolean =>
      origin !== undefined && origin !== "*" && named.has(origin),
    allows: (origin: string | undefined): boolean =>
      origin !== undefined && (named.has("*") || named.has(origin)),
    isOff: named.size === 0,
  };
}

/**
 * Answers preflight requests, and adds the CORS headers to every answer to an allowed origin, including errors and
 * streams.
 */
export function allowOrigins(app: FastifyInstance, rules: CorsRules): void {
  if (rules.isOff) return;
  app.addHook("onRequest", async (request, reply) => {
    markAnswer(request, reply, rules);
    if (!isPreflight(request) || !rules.allows(request.headers.origin)) return;
    reply.header("access-control-allow-methods", allowedMethods);
    reply.header("access-control-max-age", maxAgeSeconds);
    const asked = request.headers["access-control-request-headers"];
    // Pages of an allowed origin may send any header, so the answer allows the names that the browser asks for.
    if (asked !== undefined && headerNames.test(asked)) reply.header("access-control-allow-headers", asked);
    await reply.code(204).send();
  });
}

/** If the request's origin is allowed, sets the headers that let its page read the answer. */
export function markAnswer(
  { headers: { origin } }: FastifyRequest,
  reply: FastifyReply,
  rules: CorsRules,
): void {
  if (rules.isOff) return;
  // Without this header, caches could serve an answer for one origin to another.
  reply.header("vary", "Origin");
  if (!rules.allows(origin)) return;
  reply.header("access-control-expose-headers", exposedHeaders);
  if (!rules.names(origin)) {
    reply.header("access-control-allow-origin", "*");
    return;
  }
  reply.header("access-control-allow-origin", origin);
  // Only pages of origins that the operator has listed may use credentials that the browser stores for this server; `*`
  // does not permit it.
  reply.header("access-control-allow-credentials", "true");
}

function isPreflight({ method, headers }: FastifyRequest): boolean {
  return method === "OPTIONS" && headers["access-control-request-method"] !== undefined;
}
