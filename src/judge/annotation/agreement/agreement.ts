// How far the annotators of a queue agree on one question. Pure.
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
