// Reads all matching feedback of a project, page by page. All pages together must be read within the time limit of one
// query.
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
  /** Time limit in milliseconds for reading all pages together. */
  readonly timeMs: number;
}

const pageRecords = 1000;

/**
 * Yields feedback records in the order of their last change. Misses no record, but yields a record again if it is
 * replaced meanwhile.
 *
 * @param asked.projectId validated project id
 * @throws ServiceError `too_slow` on timeout; `overloaded` if too many searches wait
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
  const message = `Reading the project's feedback took longer than ${timeMs / 1000} s, and the request was cancelled.`;
  return new ServiceError({ code: "too_slow", message });
}
