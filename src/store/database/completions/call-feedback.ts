// Finds feedback by the call to which it refers. A record stores the call's id in addition to its reference, because
// the reference may have any scheme, and may refer to only a part of the call
// (`base/domain/feedback-query/stored-form`).
import type { ExpressionBuilder, Kysely } from "kysely";
import { callIdOf } from "../../../base/domain/recordings/call-reference.ts";
import type { CompletionKey } from "../../../base/domain/recordings/completion-key.ts";
import type { CallFeedback, FeedbackWish } from "../../../base/domain/recordings/completion-store.ts";
import type { Schema } from "../schema.ts";

export async function feedbackOn(
  database: Kysely<Schema>,
  { projectId, requestId }: CompletionKey,
  limit: number,
): Promise<readonly CallFeedback[]> {
  const rows = await database
    .selectFrom("feedback")
    .select(["id", "feedback_type", "vendor_ref", "vendor_user_id", "created_at"])
    .where("project_id", "=", projectId)
    .where("call_id", "=", callIdOf(requestId))
    .orderBy("created_at")
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    feedbackType: row.feedback_type,
    vendorRef: row.vendor_ref,
    vendorUserId: row.vendor_user_id,
    createdAt: new Date(row.created_at),
  }));
}

/** Returns the condition that selects recorded completions by the feedback on them. */
export function hasFeedback(row: ExpressionBuilder<Schema, "recorded_completions">, wish: FeedbackWish) {
  let found = row
    .selectFrom("feedback")
    .select("feedback.id")
    .whereRef("feedback.project_id", "=", "recorded_completions.project_id")
    .whereRef("feedback.call_id", "=", "recorded_completions.call_id");
  if (wish.kind === "type") found = found.where("feedback.feedback_type", "=", wish.type);
  return wish.kind === "none" ? row.not(row.exists(found)) : row.exists(found);
}
