// Checks each request to one part of the API before its handler runs. The server must accept work, the credentials must
// be valid, and neither the key's number of requests in flight nor a rate limit may be exceeded.
import { setMaxListeners } from "node:events";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../../base/domain/access.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { KeyLimits, Limited } from "../../base/domain/keys/limits.ts";
import type { TrainedModel } from "../../base/domain/model.ts";
import { ServiceError } from "../../base/domain/service-error.ts";
import { loopTurns } from "../../base/domain/sharing/loop-turns.ts";
import {
  authenticate,
  authenticateUser,
  unauthenticatedCaller,
  sentCredentials,
  sentScheme,
  type AuthenticatedCaller,
  type AuthenticationScheme,
  type RevocationWatch,
} from "./credentials/authentication.ts";
import { authenticateRollout } from "./credentials/rollout-key.ts";
import type { FailedLogins } from "./credentials/failed-logins.ts";
import { isForOperators, refuseRoute } from "./credentials/route-scopes.ts";
import { corsRules } from "./cors/cors.ts";
import { type ForeignSign, refuseOtherSites, findForeignSign } from "./cors/exposure.ts";
import { HttpRefusal } from "./errors.ts";
import type { HeadCheck } from "./bodies/gather-body.ts";
import type { Connections } from "./connections.ts";
import type { HttpDependencies } from "./dependencies.ts";
import { limitsFor, type InFlight, admitRequest } from "./limits/admission.ts";
import { onResponseEnd, clientDisconnected } from "./request-lifecycle.ts";

declare module "fastify" {
  interface FastifyInstance {
    /** Aborts when the server closes. */
    closing: AbortSignal;
    /** Ends running requests whose keys are revoked. */
    revocations: RevocationWatch;
  }
  interface FastifyContextConfig {
    /** True if the handler reads the body itself. `request.body` is then a GatheredBody. */
    takesRawBody?: boolean;
    /** True if the handler also reads bodies that are compressed with gzip. */
    takesGzip?: boolean;
    /** Returns a check that can refuse a body as soon as its first bytes have arrived. */
    headCheck?: (request: FastifyRequest) => HeadCheck;
  }
  interface FastifyRequest {
    /** Authenticated caller. Set on every route that requires credentials. */
    caller: Caller;
    /** Model that the body is meant for; null if it is not known before the body is read. */
    model: TrainedModel | null;
  }
}

/** Counters of requests and failed logins, shared by all parts of the API. */
export interface GuardCounts {
  readonly inFlight: InFlight;
  readonly failedLogins: FailedLogins;
  readonly connections: Connections;
}

/**
 * Makes every route of the scope require credentials, and perform the checks named at the top of this file.
 *
 * @param scheme scheme of the credentials, Bearer or Basic; `either` accepts both
 */
export function guard(
  scope: FastifyInstance,
  scheme: AuthenticationScheme | "either",
  dependencies: HttpDependencies,
  counts: GuardCounts,
): void {
  const admit = admission(scheme === "either" ? sentScheme : () => scheme, dependencies, counts);
  scope.addHook("onRequest", async (request, reply) => {
    if (!dependencies.isServing) {
      throw new ServiceError({
        code: "unavailable",
        message: "This server only trains (its roles are train); ask one that serves.",
        obstacle: "training-only",
      });
    }
    await admit(request, reply);
  });
}

/**
 * Makes the operator routes require credentials, Bearer or Basic, unless `dependencies.operatorRoutes` is `open`. If it
 * is `local`, only requests that a page of another site may have sent require a key.
 */
export function guardOperatorRoutes(
  app: FastifyInstance,
  dependencies: HttpDependencies,
  counts: GuardCounts,
): void {
  const { operatorRoutes, settings } = dependencies;
  if (operatorRoutes === "open") return;
  const admit = admission(sentScheme, dependencies, counts);
  const cors = corsRules(settings.corsOrigins);
  app.addHook("onRequest", async (request, reply) => {
    if (!isForOperators(request.routeOptions.url ?? "")) return;
    if (operatorRoutes === "key") return admit(request, reply);
    const sign = findForeignSign(request, cors.names(request.headers.origin));
    if (sign === null) return;
    await admit(request, reply).catch((error: unknown) => {
      throw explainRequiredKey(error, sign);
    });
  });
}

/** Adds to an `unauthorized` error the reason why the route requires a key for this request. */
function explainRequiredKey(error: unknown, { header, what }: ForeignSign): unknown {
  if (!(error instanceof HttpRefusal) || error.code !== "unauthorized") return error;
  const { status, code, headers } = error;
  const message = `${what}, so this route requires a key (http.operatorRoutes). ${error.message}`;
  const faults = [{ location: ["header", header], message, type: "unauthorized" }];
  return new HttpRefusal({ status, code, headers, faults });
}

function admission(
  schemeOf: (headers: FastifyRequest["headers"]) => AuthenticationScheme,
  dependencies: HttpDependencies,
  { inFlight, failedLogins, connections }: GuardCounts,
): (request: FastifyRequest, reply: FastifyReply) => Promise<void> {
  const { keys, users, clock, limits, limiter, entityLimits, rollouts, models } = dependencies;
  const cors = corsRules(dependencies.settings.corsOrigins);
  const countFailure = ({ ip: address, id: requestId }: FastifyRequest): void =>
    failedLogins.count({ address, requestId });
  const keyCaller = (request: FastifyRequest, scheme: AuthenticationScheme): Promise<AuthenticatedCaller> => {
    const onUnknownKey = (): void => countFailure(request);
    return authenticate(
      { keys, users, clock, onUnknownKey },
      scheme,
      sentCredentials(request.headers, scheme),
    );
  };
  const open = async (request: FastifyRequest): Promise<AuthenticatedCaller> => {
    const scheme = schemeOf(request.headers);
    const ofRollout =
      scheme === "Basic"
        ? null
        : await authenticateRollout(
            { rollouts, models, keys, clock, onUnknownKey: () => countFailure(request) },
            sentCredentials(request.headers, scheme),
          );
    if (ofRollout !== null) return ofRollout;
    if (dependencies.auth === "off")
      return { caller: unauthenticatedCaller(dependencies.defaultEntity), key: null };
    const onUnknownKey = (): void => countFailure(request);
    const from = { headers: request.headers, address: request.ip, onUnknownKey };
    const user = await authenticateUser(users, scheme, from);
    if (user === null) return keyCaller(request, scheme);
    // The proxy signs in every request from the user's browser, even a request that a page of another site sent.
    refuseOtherSites(request, cors);
    return { caller: user, key: null };
  };
  const limitedBy = async ({ caller: { entity }, key }: AuthenticatedCaller): Promise<readonly Limited[]> =>
    limitsFor({ entity, key, ofEntity: entityLimitsIn(key) ?? (await limits.find(entity)) }, entityLimits);
  return async (request, reply) => {
    if (dependencies.isDraining() && request.method !== "GET" && request.method !== "HEAD") {
      throw new ServiceError({
        code: "unavailable",
        message: "The server is draining.",
        retryAfterSeconds: 5,
      });
    }
    const opened = await open(request);
    const { entity } = (request.caller = opened.caller);
    // A connection's first request began when it was the turn of the client's network, so it now waits for a turn of
    // its entity. Later requests on the connection begin at a turn of the entity.
    if (dependencies.auth === "on" && !connections.isOf(request.raw.socket, entity))
      await loopTurns.next(entity);
    if (reply.raw.destroyed) throw clientDisconnected();
    refuseRoute(request.caller, request.method, request.routeOptions.url ?? "");
    if (dependencies.auth === "on") dependencies.keyUse.note(request.caller.keyId);
    onResponseEnd(reply.raw, inFlight.enter(request.caller.rollout?.id ?? request.caller.keyId));
    onResponseEnd(reply.raw, enterConnection(request, reply, connections));
    if (dependencies.auth === "on") await admitRequest({ request, reply }, () => limitedBy(opened), limiter);
  };
}

/** Limits of the entity that were read together with the key; undefined if they were not. */
function entityLimitsIn(key: AuthenticatedCaller["key"]): KeyLimits | undefined {
  return key !== null && "entityLimits" in key ? key.entityLimits : undefined;
}

/**
 * Registers the request on its connection.
 *
 * @throws ServiceError `overloaded`; the answer then closes the connection
 */
function enterConnection(
  { raw: { socket }, caller: { entity } }: FastifyRequest,
  reply: FastifyReply,
  connections: Connections,
): () => void {
  try {
    return connections.enter(socket, entity);
  } catch (error) {
    reply.header("connection", "close");
    throw error;
  }
}

/**
 * Returns a signal that aborts when the request has become pointless: the client disconnects before the answer is
 * complete (`cancelled`), the caller's key is revoked or expires (`unauthorized`), or the server closes
 * (`unavailable`).
 */
export function abandonedSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const { closing, revocations } = reply.server;
  const leave = revocations.enter(reply.request.caller.keyId, (reason) => controller.abort(reason));
  const onClosing = (): void => controller.abort(closing.reason);
  if (closing.aborted) onClosing();
  closing.addEventListener("abort", onClosing, { once: true });
  let isAnswered = false;
  reply.raw.once("finish", () => {
    isAnswered = true;
  });
  onResponseEnd(reply.raw, () => {
    closing.removeEventListener("abort", onClosing);
    leave();
    if (!isAnswered) controller.abort(clientDisconnected());
  });
  return controller.signal;
}

/**
 * Time in milliseconds that running answers have to end once the server closes. An interrupted answer ends after the
 * current step of the engine.
 */
const closeGraceMs = 2000;

/**
 * Makes `close` interrupt running requests. Each answer ends with an error, and its connection closes only after a
 * moment, so that the error can be sent.
 */
export function breakOffOnClose(app: FastifyInstance, clock: Clock, inFlight: InFlight): void {
  const closing = new AbortController();
  // The signal has a listener for each request in flight, so a warning of a leak would be wrong.
  setMaxListeners(0, closing.signal);
  app.decorate("closing", closing.signal);
  app.addHook("preClose", async () => {
    closing.abort(new ServiceError({ code: "unavailable", message: "The server is stopping." }));
    const end = clock.monotonicMs() + closeGraceMs;
    while (inFlight.total() > 0 && clock.monotonicMs() < end) await clock.sleep(10);
  });
}
