// Rate limiter: admits requests within the limits of their key and its entity, and refuses further requests.
import type { Allowance, Limited } from "../../../base/domain/keys/limits.ts";
import { serviceOf, type Service } from "../../../base/domain/lifecycle.ts";
import type { Metrics } from "../../../base/telemetry/metrics.ts";
import { Admission } from "./admission.ts";
import { SharedCounts, type SharedCountsDependencies } from "./shared-counts.ts";

export interface RateLimiter extends Service {
  /**
   * Admits and counts a request. Each server counts the request before it reads the other servers' counts, and removes
   * it again if a limit is exceeded. All servers together therefore stay within the limits.
   *
   * @param all the key and the entity whose limits apply to the request
   * @returns allowance to release when the request is over
   * @throws LimitRefusal with the time after which to retry; the request is then not counted
   */
  admit(all: readonly Limited[]): Promise<Allowance>;
}

export function createRateLimiter(
  dependencies: SharedCountsDependencies & { readonly metrics: Metrics },
): RateLimiter {
  const counts = new SharedCounts(dependencies);
  const refusals = dependencies.metrics.counter({
    name: "hone_limit_refusals_total",
    help: "Requests refused because they exceeded a limit of their key or entity.",
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
        // A server that has just started knows no counts yet, so it reads the stored ones before it decides.
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
