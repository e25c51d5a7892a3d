// For tests: a job report that ignores all events except those that a test handles.
import type { AttemptEvent, JobReport } from "../../../base/domain/job.ts";

/** Handlers of the events that a test observes, by the kind of event. */
export type SeenEvents = {
  readonly [Kind in AttemptEvent["kind"]]?: (
    event: Extract<AttemptEvent, { readonly kind: Kind }>,
  ) => Promise<void>;
};

export function silentReport(seen: SeenEvents = {}): JobReport {
  return async (event) => {
    // Safe cast: the handler under this kind takes events of this kind.
    const handle = seen[event.kind] as ((event: AttemptEvent) => Promise<void>) | undefined;
    await handle?.(event);
  };
}
