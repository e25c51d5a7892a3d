// A report that nobody reads, but for what a test wants to see of it.
import type { AttemptReport } from "../../../base/domain/job.ts";

export function silentReport(seen: Partial<AttemptReport> = {}): AttemptReport {
  const unseen = async (): Promise<void> => undefined;
  return {
    prepared: unseen,
    started: unseen,
    entered: unseen,
    requireOwned: unseen,
    stepped: unseen,
    saved: unseen,
    warned: unseen,
    noted: unseen,
    ...seen,
  };
}
