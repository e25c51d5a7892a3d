// Counts and times each request, and writes a log line for it. An audit line is also written for a request that changes
// something, or is refused for its credentials. The answer to a change waits until its audit line is on disk.
import { Readable } from "node:stream";
import type { FastifyRequest, FastifyInstance } from "fastify";
import type { ChatCompletion } from "../../../base/domain/chat.ts";
import type { Caller } from "../../../base/domain/access.ts";
import type { Clock } from "../../../base/domain/clock.ts";
import { cut, ServiceError } from "../../../base/domain/service-error.ts";
import type { AuditEntry, AuditLog } from "../../../base/telemetry/audit-log.ts";
import type { Logger } from "../../../base/telemetry/logger.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { requestMessage, type RequestLine } from "../../../base/telemetry/request-line.ts";
import type { RefusalAudit } from "../credentials/refusal-audit.ts";
import { effectOf } from "../credentials/route-scopes.ts";
import type { InFlight } from "../limits/admission.ts";

/** Model of a request, and the number of tokens in all its prompts and answers. */
interface Generated {
  readonly model: string;
  readonly promptTokens: number;
  readonly completionTokens: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Completions that the request has begun, one for each prompt; null if it runs no model. */
    completions: Pick<ChatCompletion, "header" | "usage">[] | null;
  }
}

/** Records that a completion has begun for the request. */
export function trackCompletion(completion: ChatCompletion, request: FastifyRequest): ChatCompletion {
  (request.completions ??= []).push(completion);
  return completion;
}

/**
 * Returns the model and the number of tokens in all prompts and answers of the request; empty if no completion has
 * begun.
 */
function generatedFor({ completions }: FastifyRequest): Generated | Record<string, never> {
  const all = completions ?? [];
  if (all.length === 0) return {};
  return {
    model: all[0].header.model,
    promptTokens: all.reduce((sum, { usage }) => sum + usage.promptTokens, 0),
    completionTokens: all.reduce((sum, { usage }) => sum + usage.completionTokens, 0),
  };
}

declare module "fastify" {
  interface FastifyRequest {
    /**
     * Address of the client. It is stored here because the socket no longer has the address once the connection is
     * closed.
     */
    clientAddress: string;
    /** True once the request has its audit line; a request gets at most one. */
    hasAuditLine: boolean;
  }
}

interface Meters {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly inFlight: InFlight;
  readonly audit: AuditLog;
  readonly refusals: RefusalAudit;
}

const secondBuckets = [0.005, 0.025, 0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300];

/** Measures each request from its headers to the end of its answer, or to the client's disconnect. */
export function measureRequests(
  app: FastifyInstance,
  { metrics, logger, clock, inFlight, audit, refusals }: Meters,
): void {
  const requests = metrics.counter({
    name: "hone_http_requests_total",
    help: "Requests answered, by route, method and status; 499 if the client disconnected first.",
    labels: ["method", "route", "status"],
  });
  const seconds = metrics.histogram({
    name: "hone_http_request_seconds",
    help: "Time from a request's headers to the end of its answer.",
    labels: ["route"],
    buckets: secondBuckets,
  });
  metrics.gauge(
    { name: "hone_http_requests_in_flight", help: "Running requests on routes that require a key." },
    () => [{ value: inFlight.total() }],
  );
  app.addHook("onRequest", async (request, reply) => {
    const startMs = clock.monotonicMs();
    request.clientAddress = request.ip;
    let isAnswered = false;
    reply.raw.once("finish", () => {
      isAnswered = true;
    });
    reply.raw.once("close", () => {
      const route = routeOf(request);
      const status = isAnswered ? reply.raw.statusCode : 499;
      const durationMs = clock.monotonicMs() - startMs;
      requests.increase({ method: request.method, route, status: String(status) });
      seconds.observe(durationMs / 1000, { route });
      const caller = callerOf(request);
      const { id: requestId, method } = request;
      const who = { keyId: caller?.keyId ?? null, entity: caller?.entity ?? null };
      const line: RequestLine = {
        requestId,
        method,
        route,
        status,
        durationMs,
        ...who,
        address: request.clientAddress,
        ...traceOf(request),
        ...generatedFor(request),
      };
      logger.info(line, requestMessage);
      if (request.hasAuditLine || !isAudited(request, status)) return;
      request.hasAuditLine = true;
      const entry = entryOf(request, status, clock);
      if (caller === null) refusals.record(entry).catch(ignoreQueuedLine);
      else audit.record(entry);
    });
  });
  auditBeforeAnswers(app, { audit, refusals, clock });
}

/** Ignores the error of an audit line, because the audit log itself logs the error and retries. */
function ignoreQueuedLine(): void {}

/**
 * Delays the answer to a change until its audit line is on disk, and refuses changes while the audit log cannot be
 * written. If writing fails after the change was made, the answer is an error that says so. A refused login is answered
 * 401 or 403 in any case.
 */
function auditBeforeAnswers(
  app: FastifyInstance,
  { audit, refusals, clock }: Pick<Meters, "audit" | "refusals" | "clock">,
): void {
  app.decorateRequest("clientAddress", "");
  app.decorateRequest("hasAuditLine", false);
  app.addHook("preParsing", (request, _reply, _payload, done) => {
    const isChange = callerOf(request) !== null && effectOf(request.method, routeOf(request)) === "change";
    done(isChange ? audit.fault() : null);
  });
  // This hook uses a callback. A promise would delay every answer by an iteration of the event loop, even if the answer
  // need not wait, and the connection might close in that iteration.
  app.addHook("onSend", (request, reply, payload, done) => {
    const { statusCode: status } = reply;
    if (request.hasAuditLine || !isAwaited(request, status)) return done(null, payload);
    // If the line cannot be written, the error is sent as a separate answer, which passes through this hook again.
    request.hasAuditLine = true;
    const caller = callerOf(request);
    const entry = entryOf(request, status, clock);
    const line = caller === null ? refusals.record(entry) : audit.recordDurably(entry);
    const answer = async (): Promise<void> => {
      const error = await line.then(() => null, unacknowledged);
      if (error === null || isRefusal(status)) return done(null, payload);
      if (payload instanceof Readable) payload.destroy();
      done(error);
    };
    void answer();
  });
}

function unacknowledged(cause: unknown): ServiceError {
  const reason = cause instanceof ServiceError ? cause.message : "The audit log cannot be written.";
  const message = `The change was made, but its line in the audit log is not on the disk yet. Look at the result before you send the request again. ${reason}`;
  return new ServiceError({ code: "unavailable", obstacle: "failing-audit-log", message, cause });
}

/** Returns the caller; null before the request is authenticated, and on routes that need no authentication. */
function callerOf(request: FastifyRequest): Caller | null {
  // Contrary to its type, `caller` is null until the request is authenticated.
  return request.caller;
}

function routeOf(request: FastifyRequest): string {
  return request.routeOptions.url ?? "none";
}

function entryOf(request: FastifyRequest, status: number, clock: Clock): AuditEntry {
  const caller = callerOf(request);
  return {
    time: clock.now(),
    keyId: caller?.keyId ?? null,
    entity: caller?.entity ?? null,
    address: request.clientAddress,
    action: cut(`${request.method} ${request.url.split("?", 1)[0]}`),
    outcome: String(status),
    requestId: request.id,
  };
}

/** Returns the id of the request's trace; empty if the request is not traced. */
function traceOf({ span }: Pick<FastifyRequest, "span">): Pick<RequestLine, "traceId"> {
  return span === null ? {} : { traceId: span.traceparent.split("-")[1] };
}

/** True for requests that are refused for their credentials, and for admitted requests that may change something. */
function isAudited(request: FastifyRequest, status: number): boolean {
  if (isRefusal(status)) return true;
  const route = routeOf(request);
  return callerOf(request) !== null && route !== "none" && effectOf(request.method, route) !== "read";
}

/** True for requests whose answer must wait until the audit line is on disk. */
function isAwaited(request: FastifyRequest, status: number): boolean {
  if (isRefusal(status)) return true;
  return (
    status < 400 && isAudited(request, status) && effectOf(request.method, routeOf(request)) === "change"
  );
}

function isRefusal(status: number): boolean {
  return status === 401 || status === 403;
}
