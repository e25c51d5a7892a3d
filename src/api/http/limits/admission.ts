// Whether a request may come in: by the limits of its key and of its entity, and by how many of its key are in flight.
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Allowance, Limited, KeyLimits } from "../../../base/domain/keys/limits.ts";
import type { RateLimiter } from "../../../access/keys/limits/rate-limiter.ts";
import { asksModels } from "../credentials/route-scopes.ts";
import { onceOver, wentAway } from "../request-life.ts";
import { rateHeaders } from "./rate-headers.ts";
import type { AccessKey } from "../../../base/domain/access.ts";
import { quoted, ServiceError } from "../../../base/domain/service-error.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** What limits leave of a request to a model; null where it has none. */
    allowance: Allowance | null;
  }
}

/**
 * Lets a request to a model in until it is over, or refuses it.
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

/**
 * The limits that hold for the requests of a key: its own, and those of its entity.
 *
 * @param key null of the operator's users, who have none
 * @param ofEntity the entity's own
 * @param defaults of what the entity has no limit of its own of
 */
export function limitedOf(
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

/** Jobs are counted where they are stored. */
function limitsRequests(limits: KeyLimits): boolean {
  return (
    limits.requestsPerMinute !== null ||
    limits.tokensPerMinute !== null ||
    limits.concurrentRequests !== null ||
    limits.queuePercent !== null
  );
}

/** How many requests of one key may be in flight at once. Counts only; fairness between keys is for the engine. */
export class InFlight {
  readonly #max: number;
  readonly #counts = new Map<string, number>();

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Counts a request in.
   *
   * @returns what counts it out again; calling it twice counts once
   * @throws ServiceError `overloaded` when the key has its share in flight
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

  /** Over all keys. */
  total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }
}
