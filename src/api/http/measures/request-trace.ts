// Traces each request as a span from its headers to the end of its answer. If the client sent a trace context, the span
// belongs to the client's trace. The span follows OpenTelemetry's HTTP conventions, and contains no headers, bodies or
// queries.
import type { FastifyInstance } from "fastify";
import type { Clock } from "../../../base/domain/clock.ts";
import type { OpenSpan, Tracing } from "../../../base/telemetry/tracing.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Trace span of the request; null if the request is not traced. */
    span: OpenSpan | null;
  }
}

/** Paths that are not traced, because monitoring polls them every few seconds. */
const untraced: readonly string[] = ["/health", "/v1/health", "/metrics"];

export function traceRequests(
  app: FastifyInstance,
  { tracing, clock }: { readonly tracing: Tracing | null; readonly clock: Clock },
): void {
  app.decorateRequest("span", null);
  if (tracing === null) return;
  app.addHook("onRequest", (request, { raw }, done) => {
    const { method, headers, ip, id } = request;
    const path = request.url.split("?", 1)[0];
    if (untraced.includes(path)) return done();
    const { traceparent, tracestate } = headers;
    const span = tracing.begin({
      name: method,
      kind: "server",
      startMs: clock.monotonicMs(),
      ...(typeof traceparent === "string" && {
        parent: { traceparent, ...(typeof tracestate === "string" && { tracestate }) },
      }),
      attributes: {
        "http.request.method": method,
        "url.path": path,
        "url.scheme": "http",
        "network.protocol.version": request.raw.httpVersion,
        "client.address": ip,
        "user_agent.original": headers["user-agent"],
        "hone.request_id": id,
      },
    });
    request.span = span;
    let isAnswered = false;
    raw.once("finish", () => {
      isAnswered = true;
    });
    raw.once("close", () => {
      const route = request.routeOptions.url;
      // The log and the metrics use the same status: 499 if the client disconnected before the end of the answer.
      const status = isAnswered ? raw.statusCode : 499;
      span.end({
        endMs: clock.monotonicMs(),
        ...(route !== undefined && { name: `${method} ${route}` }),
        attributes: { "http.route": route, "http.response.status_code": status },
        error: status >= 500 || status === 499 ? String(status) : undefined,
      });
    });
    done();
  });
}
