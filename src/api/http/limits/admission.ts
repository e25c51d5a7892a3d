// Admits requests under the limits of their key and entity, and limits the number of requests in flight per key.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Allowance, Limited, KeyLimits } from "../../../base/domain/keys/limits.ts";
import type { RateLimiter } from "../../../access/keys/limits/rate-limiter.ts";
import { asksModels } from "../credentials/route-scopes.ts";
import { onResponseEnd, clientDisconnected } from "../request-lifecycle.ts";
import { rateHeaders } from "./rate-headers.ts";
import type { AccessKey } from "../../../base/domain/access.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Rate-limit allowance of a request that runs a model; null if no limits apply. */
    allowance: Allowance | null;
  }
}

/**
 * Counts a request that runs a model towards its limits until the request is over. Other requests are not limited.
 *
 * @param limitedBy returns the key and the entity whose limits apply
 * @throws LimitRefusal if the request exceeds a limit
 */
export async function admitRequest(
  { request, reply }: { readonly request: FastifyRequest; readonly reply: FastifyReply },
  limitedBy: () => Promise<readonly Limited[]>,
  limiter: Pick<RateLimiter, "admit">,
): Promise<void> {
  if (!asksModels(request.method, request.routeOptions.url ?? "")) return;
  const limited = await limitedBy();
  if (limited.length === 0) return;
  const allowance = await limiter.admit(limited);
  onResponseEnd(reply.raw, () => allowance.leave());
  if (reply.raw.destroyed) throw clientDisconnected();
  request.allowance = allowance;
  writeStandings(request, reply);
}

/**
 * Sets the rate-limit headers to the current state of the limits. Call it again once the request's number of tokens is
 * known.
 */
export function writeStandings({ allowance }: FastifyRequest, reply: FastifyReply): void {
  if (allowance !== null && !reply.sent) reply.headers(rateHeaders(allowance.standings));
}

/**
 * Returns the limits for requests of a key: the limits of the key, and the limits of its entity.
 *
 * @param key null for users who sign in without a key
 * @param ofEntity limits that an administrator has set for the entity; each is null if it is not set
 * @param defaults limits that apply where no limit is set for the entity
 */
export function limitsFor(
  {
    entity,
    key,
    ofEntity,
  }: { readonly entity: string; readonly key: AccessKey | null; readonly ofEntity: KeyLimits },
  defaults: KeyLimits,
): readonly Limited[] {
  const together: KeyLimits = {
    requestsPerMinute: ofEntity.requestsPerMinute ?? defaults.requestsPerMinute,
    tokensPerMinute: ofEntity.tokensPerMinute ?? defaults.tokensPerMinute,
    concurrentRequests: ofEntity.concurrentRequests ?? defaults.concurrentRequests,
    queuePercent: ofEntity.queuePercent ?? defaults.queuePercent,
    queuedJobs: ofEntity.queuedJobs ?? defaults.queuedJobs,
  };
  const all: readonly Limited[] = [
    ...(key === null ? [] : [{ subject: `key:${key.id}`, name: "This key", limits: key } as const]),
    { subject: `entity:${entity}`, name: `The entity ${quoted(entity)}`, limits: together },
  ];
  return all.filter(({ limits }) => limitsRequests(limits));
}

/** True if any of the limits is about requests. The job queue checks the limit on jobs. */
function limitsRequests(limits: KeyLimits): boolean {
  return (
    limits.requestsPerMinute !== null ||
    limits.tokensPerMinute !== null ||
    limits.concurrentRequests !== null ||
    limits.queuePercent !== null
  );
}

/**
 * Limits the number of requests in flight per key. This class only counts requests; the engine divides its time fairly
 * between entities.
 */
export class InFlight {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts a request of the key until the returned function is called, which is idempotent.
   *
   * @throws ServiceError `overloaded` if the key has reached its limit
   */
  enter(keyId: string): () => void {
    const count = this.#counts.get(keyId) ?? 0;
    if (count >= this.#max) {
      const message = `This key has ${count} requests in flight, the most it may have. Wait for one to end.`;
      throw new ServiceError({ code: "overloaded", message, retryAfterSeconds: 1 });
    }
    this.#counts.set(keyId, count + 1);
    let isInside = true;
    return () => {
      if (isInside) this.#leave(keyId);
      isInside = false;
    };
  }

  #leave(keyId: string): void {
    const count = (this.#counts.get(keyId) ?? 1) - 1;
    if (count === 0) this.#counts.delete(keyId);
    else this.#counts.set(keyId, count);
  }

  /** Returns the number of requests in flight, of all keys together. */
  total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
