// Share of the read budget for each request that reads stored data. A request holds a fixed number of bytes until it is
// over, or more if its data is larger.
import type { FastifyInstance, FastifyReply } from "fastify";
import type { Caller } from "../../../base/domain/access.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { loopTurns } from "../../../base/domain/sharing/loop-turns.ts";
import { onResponseEnd } from "../request-lifecycle.ts";
import { abandonedSignal } from "../request-scope.ts";
import type { HttpSettings } from "../settings.ts";
import { ReadBudget, readerBytes, type ReadShare } from "./read-budget.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /**
     * True if the answer is a page of stored data. Such a request takes a share of the read budget, and waits until the
     * budget has room.
     */
    readsPage?: boolean;
  }
  interface FastifyRequest {
    /** Share of the read budget of a request to a route marked {@link readsPage}; null on other routes. */
    readShare: ReadShare | null;
  }
}

/** Route option for a route that answers with a page of stored data. */
export const readsPage = { config: { readsPage: true } } as const;

export function readBudget(settings: HttpSettings, metrics: Metrics): ReadBudget {
  const budget = new ReadBudget({
    bytesMax: settings.readBytesInFlight,
    waitingMax: settings.readsWaiting,
    waitSeconds: settings.readWaitSeconds,
  });
  metrics.gauge(
    {
      name: "hone_http_read_bytes",
      help: "Bytes of memory that running requests hold for reading stored data.",
    },
    () => [{ value: budget.used }],
  );
  metrics.gauge({ name: "hone_http_reads_waiting", help: "Requests waiting to read stored data." }, () => [
    { value: budget.waitingCount },
  ]);
  return budget;
}

/**
 * Waits until the read budget has room for the request, which then holds {@link readerBytes} until it is over.
 *
 * @throws ServiceError `overloaded` if there is no room in time
 */
export async function beginReading(reply: FastifyReply, budget: ReadBudget): Promise<ReadShare> {
  const share = budget.share(reply.request.caller.entity, abandonedSignal(reply));
  onResponseEnd(reply.raw, () => share.release());
  await share.hold(readerBytes);
  return share;
}

/** Makes requests to every route marked {@link readsPage} wait until the read budget has room for them. */
export function countPages(scope: FastifyInstance, budget: ReadBudget): void {
  scope.decorateRequest("readShare", null);
  scope.addHook("preHandler", async (request, reply) => {
    if (request.routeOptions.config.readsPage === true) request.readShare = await beginReading(reply, budget);
  });
  // Entities take turns to have their pages serialized, because pages have megabytes and many may be ready at the same
  // time.
  scope.addHook("preSerialization", async (request, _reply, page) => {
    // Contrary to its type, `caller` is null if the request was refused before it was authenticated.
    const caller = request.caller as Caller | null;
    if (request.routeOptions.config.readsPage === true && caller !== null)
      await loopTurns.next(caller.entity);
    return page;
  });
}
