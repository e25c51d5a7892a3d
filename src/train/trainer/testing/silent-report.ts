// A report that nobody reads, but for what a test wants to see of it.
import type { AttemptEvent, JobReport } from "../../../base/domain/job.ts";

/** Handlers of the events that a test wants to see, by their kinds. */
export type SeenEvents = {
  readonly [Kind in AttemptEvent["kind"]]?: (
    event: Extract<AttemptEvent, { readonly kind: Kind }>,
  ) => Promise<void>;
};

export function silentReport(seen: SeenEvents = {}): JobReport {
  return async (event) => {
    // Safe cast: the handler of this kind takes this event.
    const handle = seen[event.kind] as ((event: AttemptEvent) => Promise<void>) | undefined;
    await handle?.(event);
  };
}
