// A report that ignores all events, except those that a test handles.
import type { AttemptEvent, JobReport } from "../../../base/domain/job.ts";

/** Handlers of the events that a test observes, by kind. */
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
