// Counts feedback by its kind and author, to show from whom a model learned.
import type { FeedbackRecord } from "../../base/domain/feedback.ts";
import type { LearnedFrom } from "../../base/domain/learning/learning-cycle.ts";
import {
  type LearningOrder,
  type LearningSignal,
  nextMessageType,
} from "../../base/domain/learning/learning-order.ts";
import { correctionsIn } from "../rewards/preferences/corrections.ts";

/** Maximum number of rows that a cycle stores; further authors are counted together, without names. */
const rowsMax = 200;

/** Returns the numbers of records by kind, owner and creator, the greatest first. */
export function learnedFrom(
  records: readonly FeedbackRecord[],
  order: Pick<LearningOrder, "signals" | "edits">,
): readonly LearnedFrom[] {
  const rows = new Map<string, LearnedFrom>();
  for (const record of records) add(rows, kindOf(record, order), record);
  const sorted = [...rows.values()].sort((one, other) => other.count - one.count);
  const others = new Map<string, LearnedFrom>();
  for (const { kind, count } of sorted.slice(rowsMax))
    add(others, kind, { vendorUserId: "", creator: null }, count);
  return [...sorted.slice(0, rowsMax), ...others.values()];
}

function add(
  rows: Map<string, LearnedFrom>,
  kind: LearningSignal,
  { vendorUserId: owner, creator }: Pick<FeedbackRecord, "vendorUserId" | "creator">,
  count = 1,
): void {
  const key = JSON.stringify([kind, owner, creator]);
  rows.set(key, { kind, owner, creator, count: (rows.get(key)?.count ?? 0) + count });
}

function kindOf(
  record: FeedbackRecord,
  { signals, edits }: Pick<LearningOrder, "signals" | "edits">,
): LearningSignal {
  if (record.feedbackType === nextMessageType) return "next_message";
  const isEdit = signals.includes("edits") && correctionsIn(edits, [record]).length > 0;
  return isEdit ? "edits" : "ratings";
}
