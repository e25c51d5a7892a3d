// What every request under one part of the API goes through before its handler: draining, credentials, the key's share
// of requests in flight.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { Caller } from "../domain/access.ts";
import { ServiceError } from "../domain/service-error.ts";
import { authenticate, openCaller, type AuthenticationScheme } from "./authentication.ts";
import type { HttpDependencies } from "./dependencies.ts";
import type { InFlight } from "./in-flight.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whoever sent the request; set under every guarded part of the API. */
    caller: Caller;
    /** Hex SHA-256 of the body's bytes, where an idempotency key asks for it. */
    bodyHash: string;
  }
}

/** Guards every route of the scope with the scheme. */
export function guard(
  scope: FastifyInstance,
  scheme: AuthenticationScheme,
  dependencies: HttpDependencies,
  inFlight: InFlight,
): void {
  scope.addHook("onRequest", async (request: FastifyRequest, reply: FastifyReply) => {
    if (dependencies.isDraining() && request.method !== "GET" && request.method !== "HEAD") {
      throw new ServiceError({
        code: "unavailable",
        message: "The server is draining.",
        retryAfterSeconds: 5,
      });
    }
    request.caller =
      dependencies.auth === "off"
        ? openCaller(dependencies.defaultEntity)
        : await authenticate(dependencies.keys, scheme, request.headers.authorization);
    const leave = inFlight.enter(request.caller.keyId);
    reply.raw.once("close", leave);
  });
}

/**
 * A signal that aborts when the client goes away before the answer is complete.
 */
export function abandonedSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController();
  reply.raw.once("close", () => {
    if (!reply.raw.writableFinished) {
      controller.abort(new ServiceError({ code: "cancelled", message: "The client went away." }));
    }
  });
  return controller.signal;
}
