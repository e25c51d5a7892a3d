// Share of the read budget that a request holds: a fixed amount while it is answered, or more if its data is larger.
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
    /** True if the answer is a page of stored data: its bytes are counted, and it may wait for others. */
    readsPage?: boolean;
  }
}

/** Marks a route that answers with a page. */
export const readsPage = { config: { readsPage: true } } as const;

export function readBudget(settings: HttpSettings, metrics: Metrics): ReadBudget {
  const budget = new ReadBudget({
    bytesMax: settings.readBytesInFlight,
    waitingMax: settings.readsWaiting,
    waitSeconds: settings.readWaitSeconds,
  });
  metrics.gauge({ name: "hone_http_read_bytes", help: "Bytes of stored data held for answers." }, () => [
    { value: budget.used },
  ]);
  metrics.gauge({ name: "hone_http_reads_waiting", help: "Requests waiting to read stored data." }, () => [
    { value: budget.waitingCount },
  ]);
  return budget;
}

/**
 * Waits until the request may read; it then holds {@link readerBytes} until it is over.
 *
 * @throws ServiceError `overloaded` if its turn does not come
 */
export async function beginReading(reply: FastifyReply, budget: ReadBudget): Promise<ReadShare> {
  const share = budget.share(reply.request.caller.entity, abandonedSignal(reply));
  onResponseEnd(reply.raw, () => share.release());
  await share.hold(readerBytes);
  return share;
}

/** Makes every route marked {@link readsPage} in the scope wait for its turn. */
export function countPages(scope: FastifyInstance, budget: ReadBudget): void {
  scope.addHook("preHandler", async (request, reply) => {
    if (request.routeOptions.config.readsPage === true) await beginReading(reply, budget);
  });
  // Pages have megabytes, and many are ready at the same time.
  scope.addHook("preSerialization", async (request, _reply, page) => {
    // Null if an unauthenticated request was refused, contrary to its type.
    const caller = request.caller as Caller | null;
    if (request.routeOptions.config.readsPage === true && caller !== null)
      await loopTurns.next(caller.entity);
    return page;
  });
}
