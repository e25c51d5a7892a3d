// Counts and times every request, and writes one log line for each, and one into the audit log for each that changes
// something or is refused for its credentials. Never logs headers or bodies.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { Caller } from "../../domain/access.ts";
import type { Clock } from "../../domain/clock.ts";
import { cut } from "../../domain/service-error.ts";
import type { AuditLog } from "../../telemetry/audit-log.ts";
import type { Logger } from "../../telemetry/logger.ts";
import type { Metrics } from "../../telemetry/metrics.ts";
import { requestMessage, type RequestLine } from "../../telemetry/request-line.ts";
import type { RefusalAudit } from "../credentials/refusal-audit.ts";
import { generatedFor } from "../routes/generated-tokens.ts";
import type { InFlight } from "../in-flight.ts";

interface Meters {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly inFlight: InFlight;
  readonly audit: AuditLog;
  readonly refusals: RefusalAudit;
}

const secondBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Measures each request from its first header to the end of its answer, or to the client's going away. */
export function measureRequests(
  app: FastifyInstance,
  { metrics, logger, clock, inFlight, audit, refusals }: Meters,
): void {
  const requests = metrics.counter({
    name: "hone_http_requests_total",
    help: "Requests answered, by route, method and status; 499 where the client went away first.",
    labels: ["method", "route", "status"],
  });
  const seconds = metrics.histogram({
    name: "hone_http_request_seconds",
    help: "Time from a request's headers to the end of its answer.",
    labels: ["route"],
    buckets: secondBuckets,
  });
  metrics.gauge(
    { name: "hone_http_requests_in_flight", help: "Requests with credentials that are being answered." },
    () => [{ value: inFlight.total() }],
  );
  app.addHook("onRequest", async (request, reply) => {
    const startMs = clock.monotonicMs();
    // A closed connection has none.
    const address = request.ip;
    let isAnswered = false;
    reply.raw.once("finish", () => {
      isAnswered = true;
    });
    reply.raw.once("close", () => {
      const route = request.routeOptions.url ?? "none";
      const status = isAnswered ? reply.raw.statusCode : 499;
      const durationMs = clock.monotonicMs() - startMs;
      requests.increase({ method: request.method, route, status: String(status) });
      seconds.observe(durationMs / 1000, { route });
      // Null until the credentials are known, and for routes that ask for none.
      const caller = request.caller as Caller | null;
      const { id: requestId, method } = request;
      const who = { keyId: caller?.keyId ?? null, entity: caller?.entity ?? null, address };
      const line: RequestLine = {
        requestId,
        method,
        route,
        status,
        durationMs,
        ...who,
        ...traceOf(request),
        ...generatedFor(request),
      };
      logger.info(line, requestMessage);
      if (!isAudited(caller, method, route, status)) return;
      const action = cut(`${method} ${request.url.split("?", 1)[0]}`);
      const entry = { time: clock.now(), ...who, action, outcome: String(status), requestId };
      if (caller === null) refusals.record(entry);
      else audit.record(entry);
    });
  });
}

/** The id of its trace, where it is traced. */
function traceOf({ span }: Pick<FastifyRequest, "span">): Pick<RequestLine, "traceId"> {
  return span === null ? {} : { traceId: span.traceparent.split("-")[1] };
}

/** Sent by POST, but change nothing. */
const readingRoutes: readonly string[] = [
  "/v1/chat/completions",
  "/v1/chat/completions/",
  "/v1/completions",
  "/feedback/history",
  "/annotation_queues/query",
  "/annotation_queues/stats",
  "/annotation_queues/:queue_id/items/query",
];

/** Who is not let in changes nothing; why somebody was not let in is of interest where it is for the credentials. */
function isAudited(caller: Caller | null, method: string, route: string, status: number): boolean {
  if (status === 401 || status === 403) return true;
  if (caller === null) return false;
  const isRead = method === "GET" || method === "HEAD" || method === "OPTIONS";
  return !isRead && route !== "none" && !readingRoutes.includes(route);
}
