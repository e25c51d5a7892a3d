// How far the annotators of a queue agree, question by question, from the feedback that names the queue: whoever gave it, by
// this server's routes or by a client's own.
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import { jsonHash } from "../../feedback/canonical-json.ts";
import { type AskedQuestion, feedbackTypeOf } from "../asked-questions.ts";
import type { ShownQueue } from "../reach-queue.ts";
import { type RecordSource, scannedRecords } from "../scanned-records.ts";
import { type Agreement, agreementOf, type Ratings } from "./agreement.ts";

export interface QuestionAgreement extends Agreement {
  readonly question: AskedQuestion;
  /** Of the answers to it. */
  readonly feedbackType: string;
}

/** In the order in which the queue asks; of a question's answers by one annotator to one item the newest counts. */
export async function queueAgreement(
  source: RecordSource,
  queue: ShownQueue,
): Promise<readonly QuestionAgreement[]> {
  const byType = new Map(
    queue.asked.map((question) => [feedbackTypeOf(question), new Map<string, Map<string, string>>()]),
  );
  const queueId = { kind: "field", field: { kind: "text", name: "queueId" } } as const;
  const condition = compare("eq", queueId, constant(queue.id));
  for await (const records of scannedRecords(source, { projectId: queue.projectId, condition })) {
    for (const { feedbackType, vendorRef, creator, vendorUserId, payload } of records) {
      const ratings = byType.get(feedbackType);
      const value = payload["value"];
      if (ratings === undefined || value === undefined) continue;
      const answers = ratings.get(vendorRef) ?? new Map<string, string>();
      ratings.set(vendorRef, answers.set(creator ?? vendorUserId, jsonHash({ value })));
    }
  }
  return queue.asked.map((question) => {
    const feedbackType = feedbackTypeOf(question);
    return { question, feedbackType, ...agreementOn(question, byType.get(feedbackType) ?? new Map()) };
  });
}

/** What people write is no category: two texts are rarely equal, whatever they say. */
function agreementOn({ form }: AskedQuestion, ratings: Ratings): Agreement {
  const agreement = agreementOf(ratings);
  if (agreement.observed === null || (form?.kind !== "text" && form?.kind !== "number")) return agreement;
  const reason = `answers are ${form.kind === "text" ? "free texts" : "measured numbers"}, and not categories`;
  return { ...agreement, kappa: null, statistic: null, reason };
}
