// Lets pages of other sites make only few requests through a user's browser, and none if authentication is off. Also
// sets the security headers of every answer.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isLoopback } from "../../../base/domain/loopback.ts";
import { cut, type Fault } from "../../../base/domain/service-error.ts";
import type { CorsRules } from "./cors.ts";
import { HttpRefusal } from "../errors.ts";

const headers = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
} as const;

/** Content security policy of answers with data, which load nothing. The documentation page has its own policy. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'";

/** Maximum number of headers in a request. Clients send about twenty, and proxies add a few. */
const headerLinesMax = 500;

/**
 * Adds security headers to every answer, and refuses requests with an invalid Host or too many headers.
 *
 * @param auth if `off`, also refuses pages of other sites, except named origins. Through a DNS name that resolves to
 * this machine, such a page could otherwise use the server
 */
export function limitExposure(app: FastifyInstance, auth: "on" | "off", { names }: CorsRules): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers);
    if (!request.url.startsWith("/docs")) reply.header("content-security-policy", dataPolicy);
    const { rawHeaders, httpVersion } = request.raw;
    if (rawHeaders.length > 2 * headerLinesMax) throw tooManyHeaders(rawHeaders.length / 2);
    const hostCount = countOf("host", rawHeaders);
    if (hostCount > 1 || (hostCount === 0 && httpVersion === "1.1")) throw notOneHost(hostCount);
    if (auth === "off") refuseForeign(request, names(request.headers.origin));
  });
}

/**
 * Returns how often a header occurs in a request.
 *
 * @param rawHeaders names and values of the headers, alternating
 */
function countOf(name: string, rawHeaders: readonly string[]): number {
  return rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name).length;
}

function refuseForeign(request: FastifyRequest, isNamed: boolean): void {
  const sign = findForeignSign(request, isNamed);
  if (sign !== null) throw foreign(sign.header, sign.what);
  if (!isNamed && request.headers["sec-fetch-site"] === "cross-site")
    throw foreign("sec-fetch-site", "The request is another site's");
}

/** Evidence that a page of another site may have sent the request and could read the answer. */
export interface ForeignSign {
  readonly header: "host" | "origin";
  /** Description of the evidence for an error message: a sentence without its full stop. */
  readonly what: string;
}

/**
 * Returns evidence that a page of another site may have sent the request; null if the request is addressed to this
 * machine and has no foreign origin. If a page's host name resolves to this machine (DNS rebinding), the browser treats
 * the server as part of the page's site, and only the Host header reveals this. In all other cases, a browser that lets
 * a page read the answer sends Origin.
 *
 * @param isNamed true if the operator named the request's origin
 */
export function findForeignSign(
  { headers: { host, origin }, url }: Pick<FastifyRequest, "headers" | "url">,
  isNamed: boolean,
): ForeignSign | null {
  // An absolute URL in the request line takes precedence over the Host header.
  if (!url.startsWith("/") && !isLocal(url))
    return { header: "host", what: `The address ${JSON.stringify(cut(url))} is not this machine's own` };
  if (host !== undefined && !isLocal(`http://${host}`))
    return { header: "host", what: `The host ${JSON.stringify(cut(host))} is not this machine's own` };
  if (!isNamed && origin !== undefined && !isLocal(origin))
    return { header: "origin", what: `The origin ${JSON.stringify(cut(origin))} is another site` };
  return null;
}

/**
 * Refuses changes requested by pages of other sites. If a proxy signs users in by a cookie, the browser sends the
 * cookie with such a request too, so the page could otherwise make changes in the user's name.
 */
export function refuseOtherSites(request: FastifyRequest, { names }: CorsRules): void {
  const { method, headers: given } = request;
  if (method === "GET" || method === "HEAD" || names(given.origin)) return;
  const site = given["sec-fetch-site"];
  // Programs send neither Sec-Fetch-Site nor Origin. Browsers always send Origin; they also send Sec-Fetch-Site if the
  // page came over TLS or from this machine.
  if (site !== undefined && site !== "same-origin" && site !== "none")
    throw otherSite("sec-fetch-site", "The request is another site's");
  const hosts = [given.host, given["x-forwarded-host"]];
  const isOwn =
    given.origin === undefined || (URL.canParse(given.origin) && hosts.includes(new URL(given.origin).host));
  if (site === undefined && !isOwn)
    throw otherSite("origin", `The origin ${JSON.stringify(cut(given.origin ?? ""))} is another site`);
}

function otherSite(header: string, what: string): HttpRefusal {
  const message = `${what}; it may not send requests for users whom the proxy signs in. Name the origin in http.corsOrigins, or send a key.`;
  return refusal(403, "forbidden", { location: ["header", header], message, type: "forbidden" });
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname);
}

function foreign(header: string, what: string): HttpRefusal {
  const message = `${what}; authentication is off, so only this machine is served. Turn it on to serve others.`;
  return refusal(403, "forbidden", { location: ["header", header], message, type: "forbidden" });
}

function notOneHost(count: number): HttpRefusal {
  const message =
    count === 0
      ? "There is no Host header, which HTTP/1.1 asks for."
      : `There are ${count} Host headers; a request has one.`;
  const type = count === 0 ? "missing" : "value_error";
  return refusal(400, "invalid", { location: ["header", "host"], message, type });
}

function tooManyHeaders(count: number): HttpRefusal {
  const message = `The request has ${count} header lines; at most ${headerLinesMax} are read.`;
  return refusal(431, "invalid", { location: ["header"], message, type: "too_long" });
}

function refusal(status: number, code: "forbidden" | "invalid", fault: Fault): HttpRefusal {
  return new HttpRefusal({ status, code, faults: [fault] });
}
