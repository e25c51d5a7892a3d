// Computes how well a queue's annotators agree on each question. Reads all feedback records with the queue's id,
// including those that a client stored without this server's annotation routes.
import { compare, constant } from "../../../base/domain/feedback-query/make-condition.ts";
import { jsonHash } from "../../feedback/canonical-json.ts";
import { feedbackTypeOf, type AskedQuestion } from "../asked-questions.ts";
import type { ShownQueue } from "../reach-queue.ts";
import { scannedRecords, type RecordSource } from "../scanned-records.ts";
import { cohensKappa, fleissKappa } from "./kappa.ts";

export interface Agreement {
  /** Number of items with at least two answers to the question. */
  readonly itemCount: number;
  /** Number of annotators who answered at least one of these items. */
  readonly annotatorCount: number;
  /**
   * Observed agreement, from 0 to 1: the mean over all items with two or more answers. The agreement on one item is the
   * share of equal pairs among its answers. Null if no item has two answers.
   */
  readonly observed: number | null;
  /** Cohen's kappa for exactly two annotators, Fleiss' kappa for more; null if undefined. */
  readonly kappa: number | null;
  readonly statistic: "cohen" | "fleiss" | null;
  /** Human-readable reason why kappa is undefined; null if it is defined. */
  readonly reason: string | null;
}

/** Answers to one question as categories. The outer key is the item; the inner key is the annotator. */
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

/**
 * Returns an annotator's category for an item. With only two annotators, an item with two answers has one from each of
 * them, so the empty default is never returned.
 */
function categoryOf(answers: ReadonlyMap<string, string>, annotator: string): string {
  return answers.get(annotator) ?? "";
}

export interface QuestionAgreement extends Agreement {
  readonly question: AskedQuestion;
  /** Type of the feedback records that contain answers to the question. */
  readonly feedbackType: string;
}

/**
 * Computes the annotators' agreement on each question, in the order of the queue's questions. For each item and
 * question, only an annotator's newest answer counts.
 */
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

/**
 * Answers in free text have no kappa. Kappa compares categories, and two free texts are rarely equal even if they mean
 * the same.
 */
function agreementOn({ form }: AskedQuestion, ratings: Ratings): Agreement {
  const agreement = agreementOf(ratings);
  if (agreement.observed === null || (form?.kind !== "text" && form?.kind !== "number")) return agreement;
  const reason = `answers are ${form.kind === "text" ? "free texts" : "measured numbers"}, and not categories`;
  return { ...agreement, kappa: null, statistic: null, reason };
}
