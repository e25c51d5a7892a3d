// Lets requests in by the limits of their key and of its entity, and refuses what is beyond them.
import type { Allowance, Limited } from "../../../base/domain/keys/limits.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { Admission } from "./admission.ts";
import { SharedCounts, type SharedCountsDependencies } from "./shared-counts.ts";

export interface RateLimiter extends Service {
  /**
   * Counts a request in. Where several servers count, each does so before it knows what the others have, and takes back what
   * is too much: what all of them let in stays within the limits.
   *
   * @param all whom it counts for
   * @returns what is to be left when the request is over
   * @throws LimitRefusal, with when to try again; nothing is counted then
   */
  admit(all: readonly Limited[]): Promise<Allowance>;
}

export function createRateLimiter(
  dependencies: SharedCountsDependencies & { readonly metrics: Metrics },
): RateLimiter {
  const counts = new SharedCounts(dependencies);
  const refusals = dependencies.metrics.counter({
    name: "hone_limit_refusals_total",
    help: "Requests that a limit of their key or entity refused.",
    labels: ["limit", "of"],
  });
  return {
    ...serviceOf("limits of keys", { stop: () => counts.stop() }),
    admit: async (all) => {
      const subjects = all.map(({ subject }) => subject);
      const admission = new Admission(counts, all, (limit, { subject }) =>
        refusals.increase({ limit, of: subject.startsWith("key:") ? "key" : "entity" }),
      );
      if (!dependencies.store.isShared) {
        // What was there before this server came.
        if (!counts.isKnown(subjects)) await counts.exchange(subjects);
        admission.refuseFull();
        admission.enter();
        return admission;
      }
      if (counts.isKnown(subjects)) admission.refuseFull();
      admission.enter();
      await counts.exchange(subjects);
      admission.confirm();
      return admission;
    },
  };
}
