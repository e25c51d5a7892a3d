// How far the annotators of a queue agree, question by question, from the feedback that names the queue, whether this
// server's routes or a client stored it.
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import { jsonHash } from "../../feedback/canonical-json.ts";
import { feedbackTypeOf, type AskedQuestion } from "../asked-questions.ts";
import type { ShownQueue } from "../reach-queue.ts";
import { scannedRecords, type RecordSource } from "../scanned-records.ts";
import { cohensKappa, fleissKappa } from "./kappa.ts";

export interface Agreement {
  /** Items that at least two have answered. */
  readonly itemCount: number;
  /** Who has answered one of those. */
  readonly annotatorCount: number;
  /** The part of the pairs of answers that are equal, averaged over items: 0 to 1; null where no two answered one item. */
  readonly observed: number | null;
  /** Cohen's where two have answered in all, Fleiss' where more have; null where none can be said. */
  readonly kappa: number | null;
  readonly statistic: "cohen" | "fleiss" | null;
  /** Why there is no kappa, for people; null where there is one. */
  readonly reason: string | null;
}

/** What annotators answered: by item, then by annotator, the answer as a category. */
export type Ratings = ReadonlyMap<string, ReadonlyMap<string, string>>;

export function agreementOf(ratings: Ratings): Agreement {
  const judged = [...ratings.values()].filter((answers) => answers.size >= 2);
  const annotators = [...new Set(judged.flatMap((answers) => [...answers.keys()]))].sort();
  const counts = { itemCount: judged.length, annotatorCount: annotators.length };
  const [one, other] = annotators;
  if (one === undefined || other === undefined)
    return {
      ...counts,
      observed: null,
      kappa: null,
      statistic: null,
      reason: "no item was answered by two people",
    };
  const isPair = annotators.length === 2;
  const { observed, kappa } = isPair
    ? cohensKappa(judged.map((answers) => [categoryOf(answers, one), categoryOf(answers, other)]))
    : fleissKappa(
        [...ratings.values()].filter(({ size }) => size > 0).map((answers) => [...answers.values()]),
      );
  const statistic = isPair ? "cohen" : "fleiss";
  return { ...counts, observed, kappa, statistic, reason: kappa === null ? sameAnswer : null };
}

const sameAnswer = "everybody gave the same answer everywhere, and then kappa is undefined";

/** With two annotators in all, an item that two have answered has an answer of each. */
function categoryOf(answers: ReadonlyMap<string, string>, annotator: string): string {
  return answers.get(annotator) ?? "";
}

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
