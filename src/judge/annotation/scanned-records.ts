// All the feedback of a project that a condition holds for, a page at a time, within the time that a query has.
import { present } from "../../base/domain/assert.ts";
import type { Clock } from "../../base/domain/clock.ts";
import type { Condition } from "../../base/domain/feedback-query/condition.ts";
import type { FeedbackStore } from "../../base/domain/feedback-query/feedback-store.ts";
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import { parseProjectId } from "../../base/domain/project.ts";
import { ServiceError } from "../../base/domain/service-error.ts";

export interface RecordSource {
  readonly records: Pick<FeedbackStore, "scan">;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** How long all pages may take together. */
  readonly timeMs: number;
}

const pageRecords = 1000;

/**
 * In the order of what they say now: one that is replaced meanwhile comes again, and none is passed over.
 *
 * @param asked.projectId one that was checked
 * @throws ServiceError `too_slow` when its time is over, `overloaded`
 */
export async function* scannedRecords(
  { records, clock, timeMs }: RecordSource,
  asked: { readonly projectId: string; readonly condition: Condition },
): AsyncGenerator<readonly FeedbackRecord[], void> {
  const { entity } = present(parseProjectId(asked.projectId), "a checked project id");
  const endMs = clock.monotonicMs() + timeMs;
  for (let after: number | null = null; ;) {
    const page = await records.scan(
      { ...asked, order: "changed", after, limit: pageRecords },
      { entity, timeMs },
    );
    yield page.items;
    if (!page.hasMore) return;
    if (clock.monotonicMs() >= endMs) throw tooSlow(timeMs);
    after = page.last;
  }
}

function tooSlow(timeMs: number): ServiceError {
  const message = `The project's feedback was not gone through within ${timeMs / 1000} s, and the request was ended.`;
  return new ServiceError({ code: "too_slow", message });
}
