// What a browser may be made to do here by a page from elsewhere: little, and nothing where no key is asked for. Says on
// every answer how a browser may use it.
import type { FastifyInstance, FastifyRequest } from "fastify";
import { isLoopback } from "../../domain/loopback.ts";
import { cut, type Fault } from "../../domain/service-error.ts";
import type { CorsRules } from "./cors.ts";
import { HttpRefusal } from "../errors.ts";

const headers = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
} as const;

/** Answers are data; the documentation, which is a page, has a policy of its own. */
const dataPolicy = "default-src 'none'; frame-ancestors 'none'";

/**
 * @param auth where it is off, other sites' pages are refused, but for origins that the operator names: they could use the
 * server by a name that leads to it
 */
export function limitExposure(app: FastifyInstance, auth: "on" | "off", { names }: CorsRules): void {
  app.addHook("onRequest", async (request, reply) => {
    reply.headers(headers);
    if (!request.url.startsWith("/docs")) reply.header("content-security-policy", dataPolicy);
    if (request.headers.host === undefined && request.raw.httpVersion === "1.1") throw withoutHost();
    if (auth === "off") refuseForeign(request, names(request.headers.origin));
  });
}

function refuseForeign({ headers: given }: FastifyRequest, isNamed: boolean): void {
  const { host, origin } = given;
  if (host !== undefined && !isLocal(`http://${host}`)) {
    throw foreign("host", `The host ${JSON.stringify(cut(host))} is not this machine's own`);
  }
  if (isNamed) return;
  if (origin !== undefined && !isLocal(origin)) {
    throw foreign("origin", `The origin ${JSON.stringify(cut(origin))} is another site`);
  }
  if (given["sec-fetch-site"] === "cross-site")
    throw foreign("sec-fetch-site", "The request is another site's");
}

function isLocal(url: string): boolean {
  return URL.canParse(url) && isLoopback(new URL(url).hostname);
}

function foreign(header: string, what: string): HttpRefusal {
  const message = `${what}; authentication is off, so only this machine is served. Turn it on to serve others.`;
  return refusal(403, "forbidden", { location: ["header", header], message, type: "forbidden" });
}

function withoutHost(): HttpRefusal {
  const message = "There is no Host header, which HTTP/1.1 asks for.";
  return refusal(400, "invalid", { location: ["header", "host"], message, type: "missing" });
}

function refusal(status: number, code: "forbidden" | "invalid", fault: Fault): HttpRefusal {
  return new HttpRefusal({ status, code, faults: [fault] });
}
