// Requests to models go by the limits of their key and of its entity, from when they come to when they are over.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Allowance, Limited } from "../../../base/domain/keys/limits.ts";
import type { RateLimiter } from "../../../access/keys/limits/rate-limiter.ts";
import { asksModels } from "../credentials/route-scopes.ts";
import { onceOver, wentAway } from "../request-end.ts";
import { rateHeaders } from "./rate-headers.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What limits leave of a request to a model; null where it has none. */
    allowance: Allowance | null;
  }
}

/**
 * Lets a request in, or refuses it.
 *
 * @param limitedBy says whom a request to a model counts for
 * @throws LimitRefusal
 */
export async function letIn(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  limitedBy: () => Promise<readonly Limited[]>,
  limiter: Pick<RateLimiter, "admit">,
): Promise<void> {
  if (!asksModels(request.method, request.routeOptions.url ?? "")) return;
  const limited = await limitedBy();
  if (limited.length === 0) return;
  const allowance = await limiter.admit(limited);
  onceOver(reply.raw, () => allowance.leave());
  if (reply.raw.destroyed) throw wentAway();
  request.allowance = allowance;
  writeStandings(request, reply);
}

/** Says where the request stands now; to be called again once its tokens are known. */
export function writeStandings({ allowance }: FastifyRequest, reply: FastifyReply): void {
  if (allowance !== null && !reply.sent) reply.headers(rateHeaders(allowance.standings));
}
