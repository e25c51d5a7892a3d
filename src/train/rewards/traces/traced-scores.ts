// Reads scores of traced calls from feedback on the calls and on their traces. Pure.
import type { FeedbackRecord } from "../../../base/domain/feedback.ts";
import type { Json } from "../../../base/domain/text/json.ts";
import type { TracedCall } from "../../../base/domain/traces/traced-call.ts";

/** Returns the reference to a call or to a whole trace, by its id. */
export function traceReference(projectId: string, id: string): string {
  return `weave:///${projectId}/call/${id}`;
}

/**
 * Returns the mean of a call's scores with this name. If the call has none, returns the mean of its trace's scores;
 * null if the trace has none either.
 *
 * @param records feedback by the reference to its subject
 */
export function scoreOf(
  { projectId, id, traceId }: TracedCall,
  name: string,
  records: ReadonlyMap<string, readonly FeedbackRecord[]>,
): number | null {
  for (const target of [id, traceId]) {
    const judged = records.get(traceReference(projectId, target)) ?? [];
    const values = judged.flatMap((record) => valueIn(record, name) ?? []);
    if (values.length > 0) return values.reduce((sum, value) => sum + value, 0) / values.length;
  }
  return null;
}

function valueIn({ feedbackType, payload }: FeedbackRecord, name: string): number | null {
  if (payload["name"] !== name && feedbackType !== name && !feedbackType.endsWith(`.${name}`)) return null;
  const value: Json | undefined = payload["value"] ?? payload["output"];
  if (typeof value === "boolean") return Number(value);
  return typeof value === "number" ? value : null;
}
